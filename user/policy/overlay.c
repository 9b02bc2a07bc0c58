/* SPDX-License-Identifier: GPL-2.0-only */
/* Grants as a policy that parse.c reads, so that they are in the language and in no other. */
#include "overlay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "compile.h"
#include "digest.h"
#include "image.h"
#include "parse.h"
#include "warn.h"

#define TEXT_HEAD "{version: 1, rules: ["

static bool is_one_line(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return len <= OVERLAY_MAX_TARGET_BYTES;
}

/* A double-quoted scalar of YAML 1.2. */
static void add_quoted(struct buf *b, const char *text)
{
	buf_add_char(b, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_add_char(b, '\\');
		buf_add_char(b, *text);
	}
	buf_add_char(b, '"');
}

/* Grant number i stands on line i + 1. */
static void print(const struct policy_grant *grants, size_t n, struct buf *b)
{
	buf_add_str(b, TEXT_HEAD);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(b, "{allow: ");
		add_quoted(b, grants[i].target);
		buf_add_str(b, grants[i].is_kernel ? ", transport: kernel},\n" : "},\n");
	}
	buf_add_str(b, "]}\n");
}

/* What makes grants of rules: their numbers, their ends, what records call them. */
static void name(struct draft *d, const struct policy_grant *grants)
{
	char text[OVERLAY_MAX_TARGET_BYTES + 32];

	for (size_t i = 0; i < DRAFT_COUNT(d->rules, struct draft_rule); i++) {
		struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, i);

		snprintf(text, sizeof(text), "grant %u: %s", grants[i].id, grants[i].target);
		rule->line = grants[i].id;
		rule->expiry_ns = grants[i].expiry_ns;
		rule->text = arena_copy(&d->arena, text, strlen(text));
		rule->note = grants[i].note;
	}
}

int overlay_load(
	const struct policy_grant *grants, size_t n, struct err_list *errs, struct policy **ret)
{
	_cleanup_(draft_done)
	struct draft d = {0};
	_cleanup_(buf_done)
	struct buf text;
	_cleanup_close_ int fd = -1;
	char sha256[DIGEST_HEX_BYTES] = "";
	struct policy *p;
	int r;

	buf_init(&text);
	for (size_t i = 0; i < n; i++)
		if (!is_one_line(grants[i].target))
			err_add(errs, (unsigned int)i + 1, 0, NULL,
				"a target is one line of at most %d bytes",
				OVERLAY_MAX_TARGET_BYTES);
	if (errs->n_errors)
		return -EINVAL;
	print(grants, n, &text);
	if (text.is_failed)
		return -ENOMEM;
	r = parse_policy(text.data, text.len, NULL, errs, &d);
	if (r < 0)
		return r;
	name(&d, grants);
	if (d.arena.is_failed)
		return -ENOMEM;
	r = compile_policy(&d, sha256, errs, &fd);
	if (r >= 0)
		r = overlay_map(fd, &p);
	if (r < 0)
		return r;
	warn_policy(&d, p, errs);
	*ret = p;
	return 0;
}

/* They only allow, by a rule that ends; nothing else is looked for in them. */
static bool are_grants(const struct policy *p)
{
	for (size_t i = 0; i < p->n_targets; i++) {
		const struct image_target *t = &p->targets[i];

		if (t->rule >= p->n_rules || t->flags & (IMAGE_DENY | IMAGE_SECRET))
			return false;
	}
	for (size_t i = 0; i < p->n_rules; i++)
		if (!p->rules[i].expiry_ns || !p->rules[i].line ||
			p->rules[i].line > NEJ_MAX_GRANT_ID)
			return false;
	return !p->n_lists && !p->n_secrets;
}

int overlay_map(int fd, struct policy **ret)
{
	struct policy *p;
	int r = policy_map(fd, &p);

	if (r < 0)
		return r;
	if (!are_grants(p)) {
		policy_free(p);
		return -EINVAL;
	}
	*ret = p;
	return 0;
}

struct policy *overlay_lay(struct policy *p, struct policy *grants)
{
	struct policy *before = p->overlay;

	p->overlay = grants;
	return before;
}

bool overlay_grant(const struct policy *grants, size_t i, uint32_t *ret_id, uint64_t *ret_expiry_ns)
{
	if (i >= grants->n_rules)
		return false;
	*ret_id = grants->rules[i].line;
	*ret_expiry_ns = grants->rules[i].expiry_ns;
	return true;
}

const struct policy *overlay_of(const struct policy *p)
{
	return p->overlay;
}

const struct policy *overlay_find(const struct policy *p, uint32_t *rule)
{
	for (uint32_t i = 0; p->overlay && i < p->overlay->n_rules; i++)
		if ((NEJ_RULE_GRANT | p->overlay->rules[i].line) == *rule) {
			*rule = i;
			return p->overlay;
		}
	return NULL;
}

/* --- does it open anything? */

/* A host that the pattern names; false where any would do. */
static bool sample(const struct pattern *p, struct host *ret)
{
	char text[HOST_MAX_BYTES + 3];

	if (p->kind == PATTERN_RANGE) {
		host_from_addr(&p->prefix.addr, ret);
		return true;
	}
	if (p->kind == PATTERN_ANY)
		return false;
	snprintf(text, sizeof(text), "%s%.*s", p->kind == PATTERN_UNDER ? "x." : "",
		(int)p->name_len, p->name);
	return host_parse(text, strlen(text), ret) == 0;
}

enum nej_reason overlay_refusal(
	const struct policy *p, struct policy *grants, const struct policy_grant *grant)
{
	static const enum policy_scheme schemes[] = {
		[PATTERN_NO_SCHEME] = POLICY_SCHEME_ANY,
		[PATTERN_HTTPS] = POLICY_SCHEME_HTTPS,
		[PATTERN_HTTP] = POLICY_SCHEME_HTTP,
		[PATTERN_TCP] = POLICY_SCHEME_TCP,
		[PATTERN_UDP] = POLICY_SCHEME_UDP,
	};
	struct policy both = *p;
	struct policy_ask ask = {0};
	struct policy_decision d = {0};
	struct pattern_error why;
	struct pattern pattern = {0};
	struct arena arena;
	struct host host;

	both.overlay = grants;
	arena_init(&arena);
	if (pattern_parse(&arena, grant->target, strlen(grant->target), &pattern, &why) == 0 &&
		sample(&pattern, &host)) {
		ask.host = &host;
		ask.scheme = schemes[pattern.scheme];
		ask.port = pattern.has_port              ? pattern.first
			: pattern.scheme == PATTERN_HTTP ? 80
							 : 443;
		policy_decide(&both, &ask, &d);
	}
	arena_done(&arena);
	return d.verdict == POLICY_DENY ? (enum nej_reason)d.reason : NEJ_REASON_NONE;
}
