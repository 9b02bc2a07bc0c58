/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps an image and checks that it holds together; see image.h. Names are checked where read. */
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "draft.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Bytes of one element of each section. */
static const size_t element_bytes[IMAGE_SECTIONS] = {
	[IMAGE_RULES] = sizeof(struct image_rule),
	[IMAGE_TARGETS] = sizeof(struct image_target),
	[IMAGE_NODES] = sizeof(struct image_node),
	[IMAGE_REFS] = sizeof(uint32_t),
	[IMAGE_LISTS] = sizeof(struct image_list),
	[IMAGE_TAGS] = 1,
	[IMAGE_SLOTS] = sizeof(uint32_t),
	[IMAGE_NAMES] = 1,
	[IMAGE_TEXT] = 1,
	[IMAGE_PORTS] = sizeof(struct policy_port),
	[IMAGE_RANGES] = sizeof(struct policy_range),
	[IMAGE_HOST_PORTS] = sizeof(uint16_t),
	[IMAGE_PRIVATES] = sizeof(struct prefix),
	[IMAGE_RESOLVERS] = sizeof(struct endpoint),
	[IMAGE_UNIX] = sizeof(uint32_t),
	[IMAGE_LIST_PATHS] = sizeof(uint32_t),
	[IMAGE_UPSTREAMS] = sizeof(struct image_upstream),
	[IMAGE_SECRETS] = sizeof(struct image_secret),
	[IMAGE_ARGS] = sizeof(uint32_t),
	[IMAGE_TOOLS] = sizeof(struct image_text),
};

static bool has_sound_sections(const struct policy *p)
{
	const struct image_header *h = p->header;

	if (h->magic != IMAGE_MAGIC || h->size != p->size)
		return false;
	for (int i = 0; i < IMAGE_SECTIONS; i++) {
		const struct image_span *s = &h->sections[i];

		if (s->at % 8 || s->at < sizeof(*h) || s->at > p->size ||
			s->bytes > p->size - s->at || s->bytes % element_bytes[i])
			return false;
	}
	return true;
}

static size_t count(const struct policy *p, enum image_section s)
{
	return image_bytes(p, s) / element_bytes[s];
}

static void set_views(struct policy *p)
{
	p->rules = image_at(p, IMAGE_RULES);
	p->targets = image_at(p, IMAGE_TARGETS);
	p->nodes = image_at(p, IMAGE_NODES);
	p->refs = image_at(p, IMAGE_REFS);
	p->lists = image_at(p, IMAGE_LISTS);
	p->secrets = image_at(p, IMAGE_SECRETS);
	p->args = image_at(p, IMAGE_ARGS);
	p->text = image_at(p, IMAGE_TEXT);
	p->n_rules = count(p, IMAGE_RULES);
	p->n_targets = count(p, IMAGE_TARGETS);
	p->n_nodes = count(p, IMAGE_NODES);
	p->n_refs = count(p, IMAGE_REFS);
	p->n_lists = count(p, IMAGE_LISTS);
	p->n_secrets = count(p, IMAGE_SECRETS);
	p->n_args = count(p, IMAGE_ARGS);
	p->table = (struct table){
		.tags = image_at(p, IMAGE_TAGS),
		.slots = image_at(p, IMAGE_SLOTS),
		.n_slots = (uint32_t)count(p, IMAGE_SLOTS),
		.names = image_at(p, IMAGE_NAMES),
		.names_len = (uint32_t)image_bytes(p, IMAGE_NAMES),
		.lists_at = p->header->lists_at,
		.point = p->header->point,
	};
}

/* Text ends with a NUL, so that a string from any offset within ends inside. */
static bool has_sound_header(const struct policy *p)
{
	const struct image_header *h = p->header;
	size_t text = image_bytes(p, IMAGE_TEXT);

	return text && !p->text[text - 1] && p->n_nodes && p->table.n_slots &&
		image_bytes(p, IMAGE_TAGS) == p->table.n_slots &&
		h->lists_at <= p->table.names_len && h->point && h->point < KEY_PRIME &&
		h->n_prefix_bits <= sizeof(h->prefix_bits) && !h->sha256[IMAGE_HEX_BYTES - 1] &&
		h->private_mode <= DRAFT_PRIVATE_LIST && h->dns <= POLICY_DNS_BLACKHOLE &&
		h->is_default_allow <= 1 && h->inspects <= 1;
}

static bool is_text(const struct policy *p, struct image_text t)
{
	size_t bytes = image_bytes(p, IMAGE_TEXT);

	return t.at < bytes && t.len < bytes - t.at;
}

static bool has_sound_rules(const struct policy *p)
{
	size_t bytes = image_bytes(p, IMAGE_TEXT);

	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].text >= bytes || p->rules[i].note >= bytes ||
			p->rules[i].transport > POLICY_TRANSPORT_KERNEL ||
			(p->rules[i].transport == POLICY_TRANSPORT_UPSTREAM &&
				p->rules[i].upstream >= count(p, IMAGE_UPSTREAMS)))
			return false;
	for (size_t i = 0; i < p->n_targets; i++) {
		const struct image_target *t = &p->targets[i];

		if ((t->rule >= p->n_rules && t->rule != POLICY_NO_RULE) ||
			!is_text(p, t->methods) || !is_text(p, t->full) || !is_text(p, t->plain))
			return false;
		/* What opens a door must be a rule. */
		if (t->rule == POLICY_NO_RULE && !(t->flags & (IMAGE_DENY | IMAGE_SECRET)))
			return false;
		if (t->flags & IMAGE_SECRET && t->secret >= p->n_secrets)
			return false;
	}
	return true;
}

/* A rule's tools lie among those of all rules, and each is a text. */
static bool has_sound_tools(const struct policy *p)
{
	const struct image_text *tools = image_at(p, IMAGE_TOOLS);
	size_t n = count(p, IMAGE_TOOLS);

	for (size_t i = 0; i < n; i++)
		if (!is_text(p, tools[i]))
			return false;
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].first_tool > n || p->rules[i].n_tools > n - p->rules[i].first_tool)
			return false;
	return true;
}

static bool has_sound_texts(const struct policy *p, int section)
{
	const uint32_t *texts = image_at(p, section);

	for (size_t i = 0; i < count(p, section); i++)
		if (texts[i] >= image_bytes(p, IMAGE_TEXT))
			return false;
	return true;
}

/* Truth values are looked at as bytes: any other than 0 and 1 is undefined as a bool. */
static bool is_sound_host(const struct host *h)
{
	uint8_t is_embedded, is_local;

	memcpy(&is_embedded, &h->is_embedded, 1);
	memcpy(&is_local, &h->is_local, 1);
	return h->kind <= HOST_ADDR && is_embedded <= 1 && is_local <= 1 && h->len &&
		h->len <= HOST_MAX_BYTES && strnlen(h->name, sizeof(h->name)) == h->len;
}

static bool has_sound_upstreams(const struct policy *p)
{
	const struct image_upstream *all = image_at(p, IMAGE_UPSTREAMS);
	size_t bytes = image_bytes(p, IMAGE_TEXT);

	for (size_t i = 0; i < count(p, IMAGE_UPSTREAMS); i++) {
		const struct image_upstream *u = &all[i];

		if (u->name >= bytes || u->ca_path >= bytes || u->username >= bytes ||
			u->password >= bytes || !is_text(p, u->ca))
			return false;
		if (!u->port || u->is_tls > 1 || u->is_by_name > 1 || !is_sound_host(&u->host))
			return false;
	}
	return true;
}

static bool has_sound_secrets(const struct policy *p)
{
	size_t bytes = image_bytes(p, IMAGE_TEXT);

	for (size_t i = 0; i < p->n_secrets; i++) {
		const struct image_secret *s = &p->secrets[i];

		if (s->name >= bytes || s->key_id >= bytes || s->first_arg > p->n_args ||
			s->n_args > p->n_args - s->first_arg || !s->n_args ||
			s->source > POLICY_SOURCE_COMMAND || s->is_aws > 1)
			return false;
	}
	return p->n_secrets <= POLICY_MAX_SECRETS && has_sound_texts(p, IMAGE_ARGS);
}

static bool has_sound_places(const struct policy *p)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].first > p->n_refs || p->nodes[i].n > p->n_refs - p->nodes[i].first)
			return false;
	for (size_t i = 0; i < p->n_refs; i++)
		if (p->refs[i] >= p->n_targets)
			return false;
	if (p->n_lists > IMAGE_MAX_LISTS)
		return false;
	for (size_t i = 0; i < p->n_lists; i++)
		if (p->lists[i].target >= p->n_targets)
			return false;
	if (!has_sound_texts(p, IMAGE_UNIX) || !has_sound_texts(p, IMAGE_LIST_PATHS))
		return false;
	for (size_t i = 0; i < p->header->n_prefix_bits; i++)
		if (p->header->prefix_bits[i] > 128)
			return false;
	return true;
}

DEFINE_CLEANUP(struct policy, policy_free);

int policy_map(int fd, struct policy **ret)
{
	_cleanup_(policy_free_ptr)
	struct policy *p = calloc(1, sizeof(*p));
	int seals = fcntl(fd, F_GET_SEALS);
	off_t size = lseek(fd, 0, SEEK_END); /* fstat(3) is a call on paths, refused to a worker */
	void *base;

	if (!p)
		return -ENOMEM;
	p->fd = -1;
	if (seals < 0 || size < 0)
		return -errno;
	/* Whoever else holds it cannot change what was checked. */
	if ((seals & SEALS) != SEALS || (size_t)size < sizeof(struct image_header) ||
		size > UINT32_MAX)
		return -EINVAL;
	base = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	p->base = base;
	p->size = (size_t)size;
	p->header = base;
	if (!has_sound_sections(p))
		return -EINVAL;
	set_views(p);
	if (!has_sound_header(p) || !has_sound_rules(p) || !has_sound_places(p) ||
		!has_sound_upstreams(p) || !has_sound_secrets(p) || !has_sound_tools(p))
		return -EINVAL;
	p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (p->fd < 0)
		return -errno;
	*ret = TAKE_PTR(p);
	return 0;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	policy_free(p->overlay);
	if (p->base)
		munmap((void *)(uintptr_t)p->base, p->size);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

int policy_fd(const struct policy *p)
{
	return p->fd;
}
