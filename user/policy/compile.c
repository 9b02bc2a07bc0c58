/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compiles a draft: targets in the order they are tried, a table from each host they name to its
 * targets, and what the kernel side wants to know. Read image.h first.
 */
#include "compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/htab.h"
#include "compile_ports.h"
#include "doh.h"
#include "image.h"
#include "list.h"

struct ref { /* a target of a name */
	struct ref *next;
	uint32_t target;
};

struct name { /* a key that rules name */
	struct htab_node node;
	const char *key;
	size_t len;
	struct ref *first, **last;
	uint32_t n;
	struct name *next;
};

struct compiler {
	struct draft *draft;
	struct err_list *errs;
	struct image_header header;
	struct buf sections[IMAGE_SECTIONS];
	struct htab names;
	struct name *first_name, **last_name;
	struct name any; /* every name */
	struct table_builder table;
	size_t n_records;
	bool is_failed;
};

static void compiler_done(struct compiler *c)
{
	for (int i = 0; i < IMAGE_SECTIONS; i++)
		buf_done(&c->sections[i]);
	htab_done(&c->names);
	table_done(&c->table);
}

static size_t count(const struct compiler *c, enum image_section s, size_t element)
{
	return c->sections[s].len / element;
}

static uint32_t add_text(struct compiler *c, const char *s, size_t len)
{
	struct buf *b = &c->sections[IMAGE_TEXT];
	uint32_t at = (uint32_t)b->len;

	if (b->len + len + 1 > UINT32_MAX) {
		c->is_failed = true;
		return 0;
	}
	buf_add(b, s, len);
	buf_add(b, "", 1);
	return at;
}

static struct image_text add_piece(struct compiler *c, const char *s, size_t len)
{
	if (!len)
		return (struct image_text){0};
	return (struct image_text){add_text(c, s, len), (uint32_t)len};
}

/* --- names and their targets */

static struct name *find_name(struct compiler *c, const char *key, size_t len, uint64_t hash)
{
	for (struct htab_node *n = htab_find(&c->names, hash); n; n = htab_next(n)) {
		struct name *name = (struct name *)n; /* node is its first member */

		if (name->len == len && !memcmp(name->key, key, len))
			return name;
	}
	return NULL;
}

static struct name *add_name(struct compiler *c, const char *key, size_t len)
{
	uint64_t hash = hash_bytes(key, len);
	struct name *name = find_name(c, key, len, hash);

	if (name)
		return name;
	name = arena_alloc(&c->draft->arena, sizeof(*name));
	if (!name)
		return NULL;
	name->key = arena_copy(&c->draft->arena, key, len);
	name->len = len;
	name->last = &name->first;
	if (!name->key || htab_add(&c->names, &name->node, hash) < 0)
		return NULL;
	*c->last_name = name;
	c->last_name = &name->next;
	return name;
}

static void add_ref(struct compiler *c, struct name *name, uint32_t target)
{
	struct ref *ref = name ? arena_alloc(&c->draft->arena, sizeof(*ref)) : NULL;

	if (!ref) {
		c->is_failed = true;
		return;
	}
	ref->target = target;
	*name->last = ref;
	name->last = &ref->next;
	name->n++;
}

static void note_prefix_bits(struct compiler *c, uint8_t bits)
{
	struct image_header *h = &c->header;

	if (!memchr(h->prefix_bits, bits, h->n_prefix_bits))
		h->prefix_bits[h->n_prefix_bits++] = bits;
}

/* Files a target under what it names. Lists are filed as stretches later. */
static void file_target(struct compiler *c, const struct pattern *p, uint32_t target)
{
	char key[KEY_PREFIX_BYTES];

	switch (p->kind) {
	case PATTERN_ANY:
		add_ref(c, &c->any, target);
		break;
	case PATTERN_RANGE:
		note_prefix_bits(c, p->prefix.bits);
		key_of_prefix(&p->prefix.addr, p->prefix.bits, key);
		add_ref(c, add_name(c, key, sizeof(key)), target);
		break;
	case PATTERN_LIST:
		break;
	default:
		add_ref(c, add_name(c, p->name, p->name_len), target);
	}
}

/* --- targets */

static uint32_t add_target(struct compiler *c, struct image_target *t)
{
	uint32_t index = (uint32_t)count(c, IMAGE_TARGETS, sizeof(*t));

	buf_add(&c->sections[IMAGE_TARGETS], t, sizeof(*t));
	return index;
}

static bool speaks_first(const struct pattern *p)
{
	return p->scheme == PATTERN_TCP || (p->scheme == PATTERN_NO_SCHEME && p->has_port);
}

static void add_pattern(struct compiler *c, const struct draft_rule *rule, const struct pattern *p)
{
	bool is_kernel = !rule->is_deny && rule->transport == POLICY_TRANSPORT_KERNEL;
	struct opens opens[OPENS_MAX];
	size_t n = opens_of(p, rule->is_deny, is_kernel, opens);
	struct image_target t = {
		.rule = p->rule,
		.kind = p->kind,
		.flags = (uint8_t)((rule->is_deny ? IMAGE_DENY : 0) |
			(p->methods ? IMAGE_METHODS : 0) | (p->has_path ? IMAGE_PATH : 0) |
			(p->has_path && p->is_caseless ? IMAGE_CASELESS : 0) |
			(speaks_first(p) ? IMAGE_SPEAKS_FIRST : 0)),
		.methods = add_piece(c, p->methods, p->methods_len),
		.full = add_piece(c, p->full.text, p->has_path ? p->full.len : 0),
		.plain = add_piece(c, p->plain.text, p->has_path ? p->plain.len : 0),
	};

	for (size_t i = 0; i < n; i++) {
		uint32_t target;

		t.opens = opens[i];
		if ((t.flags & IMAGE_CONDITIONAL || rule->is_inspect) &&
			t.opens.ports[OPENS_HTTPS].first)
			c->header.inspects = 1;
		target = add_target(c, &t);
		file_target(c, p, target);
		if (p->kind == PATTERN_LIST) {
			struct image_list list = {.at = p->list, .target = target};

			buf_add(&c->sections[IMAGE_LISTS], &list, sizeof(list));
		}
		if (!rule->is_deny)
			compile_ports_note(&c->sections[IMAGE_RANGES], p, rule, &opens[i]);
	}
}

static void add_tools(struct compiler *c, const struct draft_rule *rule, struct image_rule *ret)
{
	struct buf *tools = &c->sections[IMAGE_TOOLS];

	ret->first_tool = (uint32_t)count(c, IMAGE_TOOLS, sizeof(struct image_text));
	ret->n_tools = rule->n_tools;
	for (uint32_t i = 0; i < rule->n_tools; i++) {
		const struct draft_tool *t =
			DRAFT_AT(c->draft->tools, struct draft_tool, rule->first_tool + i);
		struct image_text text = add_piece(c, t->text, t->len);

		buf_add(tools, &text, sizeof(text));
	}
}

static void add_rules(struct compiler *c)
{
	struct draft *d = c->draft;

	for (size_t i = 0; i < DRAFT_COUNT(d->rules, struct draft_rule); i++) {
		const struct draft_rule *r = DRAFT_AT(d->rules, struct draft_rule, i);
		struct image_rule rule = {
			.line = r->line,
			.text = add_text(c, r->text, strlen(r->text)),
			.note = r->note ? add_text(c, r->note, strlen(r->note)) : 0,
			.is_deny = r->is_deny,
			.transport = r->transport,
			.is_inspect = r->is_inspect,
			.flags = (uint8_t)((r->has_mcp ? IMAGE_RULE_MCP : 0) |
				(r->denies_hosted ? IMAGE_RULE_HOSTED : 0)),
			.limits = r->limits,
			.upstream = r->upstream,
			.expiry_ns = r->expiry_ns,
		};

		add_tools(c, r, &rule);
		buf_add(&c->sections[IMAGE_RULES], &rule, sizeof(rule));
		for (uint32_t k = 0; k < r->n_patterns; k++)
			add_pattern(
				c, r, DRAFT_AT(d->patterns, struct pattern, r->first_pattern + k));
	}
}

/* Denylist mode: resolvers over HTTPS are shut behind all rules, so that a rule can open them. */
static void add_doh(struct compiler *c)
{
	struct pattern p = {.kind = PATTERN_TREE};
	struct opens opens[OPENS_MAX];
	struct image_target t = {.rule = POLICY_NO_RULE, .kind = PATTERN_TREE, .flags = IMAGE_DENY};
	uint32_t target;

	if (!c->draft->is_default_allow)
		return;
	opens_of(&p, true, false, opens);
	t.opens = opens[0];
	target = add_target(c, &t);
	for (size_t i = 0; doh_names[i]; i++) {
		p.name = doh_names[i];
		p.name_len = strlen(p.name);
		file_target(c, &p, target);
	}
}

/* After all rules, so that they come last among the targets of a name. */
static void add_secret_hosts(struct compiler *c, const struct draft_secret *s, uint16_t index)
{
	for (uint32_t i = 0; i < s->n_hosts; i++) {
		const struct pattern *p =
			DRAFT_AT(c->draft->secret_hosts, struct pattern, s->first_host + i);
		struct image_target t = {.rule = POLICY_NO_RULE,
			.kind = p->kind,
			.flags = IMAGE_SECRET,
			.secret = index};

		file_target(c, p, add_target(c, &t));
	}
}

static void add_secrets(struct compiler *c)
{
	const struct draft *d = c->draft;

	for (size_t i = 0; i < DRAFT_COUNT(d->secret_args, const char *); i++) {
		const char *arg = *DRAFT_AT(d->secret_args, const char *, i);
		uint32_t at = add_text(c, arg, strlen(arg));

		buf_add(&c->sections[IMAGE_ARGS], &at, sizeof(at));
	}
	for (size_t i = 0; i < DRAFT_COUNT(d->secrets, struct draft_secret); i++) {
		const struct draft_secret *s = DRAFT_AT(d->secrets, struct draft_secret, i);
		struct image_secret secret = {
			.name = add_text(c, s->name, strlen(s->name)),
			.key_id = s->key_id ? add_text(c, s->key_id, strlen(s->key_id)) : 0,
			.first_arg = s->first_arg,
			.n_args = s->n_args,
			.source = s->source,
			.in = s->in,
			.is_aws = s->is_aws,
		};

		buf_add(&c->sections[IMAGE_SECRETS], &secret, sizeof(secret));
		add_secret_hosts(c, s, (uint16_t)i);
		c->header.inspects = 1;
	}
}

/* --- the host table */

static void add_node(struct compiler *c, const struct name *name)
{
	struct image_node node = {
		.first = (uint32_t)count(c, IMAGE_REFS, sizeof(uint32_t)), .n = name->n};

	for (const struct ref *r = name->first; r; r = r->next)
		buf_add(&c->sections[IMAGE_REFS], &r->target, sizeof(r->target));
	buf_add(&c->sections[IMAGE_NODES], &node, sizeof(node));
}

static void add_nodes(struct compiler *c)
{
	struct buf *names = &c->sections[IMAGE_NAMES];

	add_node(c, &c->any);
	for (const struct name *n = c->first_name; n; n = n->next) {
		uint32_t node = (uint32_t)count(c, IMAGE_NODES, sizeof(struct image_node));

		add_node(c, n);
		buf_add_char(names, (char)n->len);
		buf_add(names, n->key, n->len);
		buf_add(names, &node, sizeof(node));
		c->n_records++;
	}
	c->header.lists_at = (uint32_t)names->len;
}

/* Each list's file becomes a stretch of names and goes. */
static int add_lists(struct compiler *c)
{
	struct draft *d = c->draft;
	struct buf *names = &c->sections[IMAGE_NAMES];
	size_t left = NEJ_MAX_LIST_HOSTS;

	for (size_t i = 0; i < count(c, IMAGE_LISTS, sizeof(struct image_list)); i++) {
		struct image_list *at = DRAFT_AT(c->sections[IMAGE_LISTS], struct image_list, i);
		struct draft_list *list = DRAFT_AT(d->lists, struct draft_list, at->at);
		int r;

		at->at = (uint32_t)names->len;
		/* `transport: kernel` makes two targets of one list: the same stretch twice. */
		if (!list->data && i) {
			at->at = at[-1].at;
			at->end = at[-1].end;
			continue;
		}
		r = list_read(&d->arena, list, left, c->errs, names);
		free(list->data);
		list->data = NULL;
		if (r < 0 && r != -EINVAL)
			return r;
		if (names->len > UINT32_MAX / 2)
			return -EFBIG;
		left -= list->n_names < left ? list->n_names : left;
		c->n_records += list->n_names;
		at->end = (uint32_t)names->len;
	}
	return c->errs->n_errors ? -EINVAL : 0;
}

static int add_table(struct compiler *c)
{
	struct buf *names = &c->sections[IMAGE_NAMES];
	struct buf *lists = &c->sections[IMAGE_LISTS];
	uint64_t point = c->header.point;
	int r = table_init(&c->table, c->n_records);

	if (r < 0)
		return r;
	table_add(&c->table, names->data, 0, c->header.lists_at, sizeof(uint32_t), point);
	for (size_t i = 0; i < DRAFT_COUNT(*lists, struct image_list); i++) {
		const struct image_list *list = DRAFT_AT(*lists, struct image_list, i);

		if (!i || list->at != list[-1].at || list->end != list[-1].end)
			table_add(&c->table, names->data, list->at, list->end, 0, point);
	}
	c->header.n_hosts = c->table.n_used;
	return 0;
}

/* --- options */

static uint32_t add_optional(struct compiler *c, const char *s)
{
	return s ? add_text(c, s, strlen(s)) : 0;
}

static void add_upstreams(struct compiler *c)
{
	struct buf *all = &c->draft->upstreams;

	for (size_t i = 0; i < DRAFT_COUNT(*all, struct draft_upstream); i++) {
		const struct draft_upstream *d = DRAFT_AT(*all, struct draft_upstream, i);
		struct image_upstream u = {
			.name = add_text(c, d->name, strlen(d->name)),
			.ca_path = add_optional(c, d->ca_path),
			.username = add_optional(c, d->username),
			.password = add_optional(c, d->password),
			.ca = add_piece(c, d->ca, d->ca_len),
			.host = d->host,
			.port = d->port,
			.is_tls = d->is_tls,
			.is_by_name = d->is_by_name,
		};

		buf_add(&c->sections[IMAGE_UPSTREAMS], &u, sizeof(u));
		if (d->ca_path)
			buf_add(&c->sections[IMAGE_LIST_PATHS], &u.ca_path, sizeof(u.ca_path));
	}
}

static void add_options(struct compiler *c, const char *sha256)
{
	struct image_header *h = &c->header;
	struct draft *d = c->draft;

	h->limits = d->limits;
	h->is_default_allow = d->is_default_allow;
	h->denies_inbound = d->denies_inbound;
	h->hides_allowed = d->hides_allowed;
	h->fails_open = d->fails_open;
	h->private_mode = d->private_mode;
	h->dns = d->dns;
	h->has_unix_list = d->has_unix_list;
	memcpy(h->sha256, sha256, IMAGE_HEX_BYTES - 1);
	buf_add(&c->sections[IMAGE_HOST_PORTS], d->host_ports.data, d->host_ports.len);
	buf_add(&c->sections[IMAGE_PRIVATES], d->privates.data, d->privates.len);
	buf_add(&c->sections[IMAGE_RESOLVERS], d->resolvers.data, d->resolvers.len);
	for (size_t i = 0; i < DRAFT_COUNT(d->unix_paths, const char *); i++) {
		const char *path = *DRAFT_AT(d->unix_paths, const char *, i);
		uint32_t at = add_text(c, path, strlen(path));

		buf_add(&c->sections[IMAGE_UNIX], &at, sizeof(at));
	}
	for (size_t i = 0; i < DRAFT_COUNT(d->lists, struct draft_list); i++) {
		const char *path = DRAFT_AT(d->lists, struct draft_list, i)->path;
		uint32_t at = add_text(c, path, strlen(path));

		buf_add(&c->sections[IMAGE_LIST_PATHS], &at, sizeof(at));
	}
}

/* --- the file */

struct piece {
	const void *data;
	size_t len;
};

static struct piece piece_of(const struct compiler *c, int section)
{
	if (section == IMAGE_TAGS)
		return (struct piece){c->table.tags, c->table.n_slots};
	if (section == IMAGE_SLOTS)
		return (struct piece){c->table.slots, c->table.n_slots * sizeof(uint32_t)};
	return (struct piece){c->sections[section].data, c->sections[section].len};
}

static int lay_out(struct compiler *c)
{
	size_t at = sizeof(c->header);

	for (int i = 0; i < IMAGE_SECTIONS; i++) {
		struct piece p = piece_of(c, i);

		at = (at + 7) / 8 * 8;
		c->header.sections[i] = (struct image_span){(uint32_t)at, (uint32_t)p.len};
		at += p.len;
		if (at > UINT32_MAX - 8 || c->sections[i].is_failed)
			return at > UINT32_MAX - 8 ? -EFBIG : -ENOMEM;
	}
	c->header.size = (uint32_t)at;
	return 0;
}

static int write_at(int fd, const void *data, size_t len, size_t at)
{
	if (lseek(fd, (off_t)at, SEEK_SET) < 0)
		return -errno;
	return file_write_fd(fd, data, len);
}

static int write_image(const struct compiler *c, int fd)
{
	int r;

	if (ftruncate(fd, c->header.size) < 0)
		return -errno;
	r = write_at(fd, &c->header, sizeof(c->header), 0);
	for (int i = 0; i < IMAGE_SECTIONS && !r; i++) {
		struct piece p = piece_of(c, i);

		if (p.len)
			r = write_at(fd, p.data, p.len, c->header.sections[i].at);
	}
	if (r < 0)
		return r;
	r = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return r < 0 ? -errno : 0;
}

static int build(struct compiler *c, const char *sha256)
{
	int r;

	buf_add(&c->sections[IMAGE_TEXT], "", 1);
	add_options(c, sha256);
	add_upstreams(c);
	add_rules(c);
	add_doh(c);
	add_secrets(c);
	add_nodes(c);
	if (c->is_failed)
		return -ENOMEM;
	r = add_lists(c);
	if (r < 0)
		return r;
	r = add_table(c);
	if (r < 0)
		return r;
	c->header.opens_any_port = compile_ports(c->draft, &c->sections[IMAGE_PORTS]);
	return c->is_failed || c->draft->arena.is_failed ? -ENOMEM : lay_out(c);
}

int compile_policy(struct draft *d, const char *sha256, struct err_list *errs, int *ret_fd)
{
	_cleanup_(compiler_done)
	struct compiler c = {.draft = d, .errs = errs, .header = {.magic = IMAGE_MAGIC}};
	_cleanup_close_ int fd = -1;
	int r;

	c.last_name = &c.first_name;
	c.any.last = &c.any.first;
	htab_init(&c.names);
	if (getrandom(&c.header.point, sizeof(c.header.point), 0) != sizeof(c.header.point))
		return -EIO;
	c.header.point = c.header.point % (KEY_PRIME - 256) + 255;
	r = build(&c, sha256);
	if (r < 0)
		return r;
	fd = memfd_create("nej-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r = write_image(&c, fd);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}
