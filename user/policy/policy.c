/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads a policy in its stages, and answers what others ask of one; see policy.h. */
#include "policy.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "compile.h"
#include "digest.h"
#include "image.h"
#include "import.h"
#include "parse.h"
#include "warn.h"

/* An Agentfile or a task: its rules stand in its own lines. */
static int read_task(struct draft *d, const char *text, size_t len, struct err_list *errs)
{
	_cleanup_(import_done)
	struct import im;
	_cleanup_(buf_done)
	struct buf policy;
	int r;

	buf_init(&policy);
	r = import_read(text, len, IMPORT_TASK, errs, &im);
	if (r < 0)
		return r;
	for (size_t i = 0; i < DRAFT_COUNT(im.notes, struct import_note); i++) {
		const struct import_note *note = DRAFT_AT(im.notes, struct import_note, i);

		err_warn(errs, note->line, 0, NULL, "%s", note->text);
	}
	r = import_print(&im, "a task", &policy);
	if (r < 0)
		return r;
	r = parse_policy(policy.data, policy.len, NULL, errs, d);
	if (!r)
		import_place(&im, d);
	return r;
}

static int read_draft(
	struct draft *d, const char *text, size_t len, const char *dir, struct err_list *errs)
{
	enum import_format format;
	int r;

	/* Words that every task has, and hardly any policy: reading twice takes its time. */
	if ((memmem(text, len, "sandbox", 7) || memmem(text, len, "network_mode", 12)) &&
		import_detect(text, len) == IMPORT_TASK)
		return read_task(d, text, len, errs);
	r = parse_policy(text, len, dir, errs, d);
	if (r != -EINVAL)
		return r;
	format = import_detect(text, len);
	if (format == IMPORT_NONE) {
		struct err_list other;

		err_init(&other, errs->file);
		if (import_is_unread(text, len, &other))
			*errs = other;
		return r;
	}
	err_init(errs, errs->file);
	err_add(errs, 0, 0, "print a policy with `nej import FILE`, read it, and use that",
		"no policy: these are %s", import_title(format));
	return r;
}

static int load_draft(struct draft *d, const char *text, size_t len, const char *dir,
	struct err_list *errs, struct policy **ret)
{
	char sha256[DIGEST_HEX_BYTES];
	_cleanup_close_ int fd = -1;
	int r;

	r = read_draft(d, text, len, dir, errs);
	if (r < 0)
		return r;
	r = digest_policy(text, len, d, sha256);
	if (r < 0)
		return r;
	r = compile_policy(d, sha256, errs, &fd);
	return r < 0 ? r : policy_map(fd, ret);
}

int policy_load_text(const char *text, size_t len_bytes, const char *dir, struct err_list *errs,
	struct policy **ret)
{
	_cleanup_(draft_done)
	struct draft d = {0};
	struct policy *p;
	int r = load_draft(&d, text, len_bytes, dir, errs, &p);

	if (r < 0)
		return r;
	warn_policy(&d, p, errs);
	*ret = p;
	return 0;
}

int policy_load(const char *path, struct err_list *errs, struct policy **ret)
{
	_cleanup_free_ char *text = NULL;
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len;
	int r;

	r = file_read(path, NEJ_MAX_POLICY_BYTES, &text, &len);
	if (r < 0)
		return r;
	if (slash && (size_t)(slash - path) >= sizeof(dir) - 1)
		return -ENAMETOOLONG;
	/* `/policy.yaml` lies in `/`. */
	if (slash) {
		memcpy(dir, path, (size_t)(slash - path) + 1);
		dir[slash - path + (slash == path)] = 0;
	}
	r = policy_load_text(text, len, slash ? dir : NULL, errs, ret);
	/* What parsing took goes back: the process lives on for as long as its sandbox. */
	malloc_trim(0);
	return r;
}

bool policy_has_tls_upstream(const struct policy *p)
{
	const struct image_upstream *u = image_at(p, IMAGE_UPSTREAMS);

	for (size_t i = 0; i < image_bytes(p, IMAGE_UPSTREAMS) / sizeof(*u); i++)
		if (u[i].is_tls)
			return true;
	return false;
}

enum policy_dns_mode policy_dns_mode(const struct policy *p)
{
	return p->header->dns;
}

bool policy_is_default_allow(const struct policy *p)
{
	return p->header->is_default_allow;
}

bool policy_has_rules(const struct policy *p)
{
	return p->n_rules > 0;
}

bool policy_inspects(const struct policy *p)
{
	return p->header->inspects;
}

bool policy_audits_allowed(const struct policy *p)
{
	return !p->header->hides_allowed;
}

bool policy_fails_closed(const struct policy *p)
{
	return !p->header->fails_open;
}

uint64_t policy_max_connections(const struct policy *p)
{
	return p->header->limits.connections;
}

const char *policy_sha256(const struct policy *p)
{
	return p->header->sha256;
}

size_t policy_resolvers(const struct policy *p, struct endpoint *ret, size_t max)
{
	size_t n = image_bytes(p, IMAGE_RESOLVERS) / sizeof(*ret);

	if (n > max)
		n = max;
	memcpy(ret, image_at(p, IMAGE_RESOLVERS), n * sizeof(*ret));
	return n;
}

size_t policy_ports(const struct policy *p, const struct policy_port **ret)
{
	*ret = image_at(p, IMAGE_PORTS);
	return image_bytes(p, IMAGE_PORTS) / sizeof(**ret);
}

size_t policy_kernel_ranges(const struct policy *p, const struct policy_range **ret)
{
	*ret = image_at(p, IMAGE_RANGES);
	return image_bytes(p, IMAGE_RANGES) / sizeof(**ret);
}

size_t policy_host_ports(const struct policy *p, const uint16_t **ret)
{
	*ret = image_at(p, IMAGE_HOST_PORTS);
	return image_bytes(p, IMAGE_HOST_PORTS) / sizeof(**ret);
}

bool policy_has_host_port(const struct policy *p, uint16_t port)
{
	const uint16_t *ports;
	size_t n = policy_host_ports(p, &ports);

	for (size_t i = 0; i < n; i++)
		if (ports[i] == port)
			return true;
	return false;
}

bool policy_denies_inbound(const struct policy *p)
{
	return p->header->denies_inbound;
}

bool policy_has_kernel_transport(const struct policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].transport == POLICY_TRANSPORT_KERNEL)
			return true;
	return false;
}

bool policy_opens_any_port(const struct policy *p)
{
	return p->header->opens_any_port;
}

static const char *text_of(const struct policy *p, int section, size_t i)
{
	const uint32_t *texts = image_at(p, section);

	return i < image_bytes(p, section) / sizeof(*texts) ? p->text + texts[i] : NULL;
}

const char *policy_unix_path(const struct policy *p, size_t i)
{
	return text_of(p, IMAGE_UNIX, i);
}

const char *policy_list_path(const struct policy *p, size_t i)
{
	return text_of(p, IMAGE_LIST_PATHS, i);
}

void policy_count(const struct policy *p, size_t *ret_rules, size_t *ret_hosts)
{
	*ret_rules = p->n_rules;
	*ret_hosts = p->header->n_hosts;
}
