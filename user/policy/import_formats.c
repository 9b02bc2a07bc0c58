/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys, rules, notes and hosts for all readers of other formats; see import_formats.h. */
#include "import_formats.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_TEXT_BYTES 240

/* --- looking up */

const struct yaml_node *import_peek(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml_node *v = map->first; v; v = v->next)
		if (!strcmp(v->key->text, key))
			return v;
	return NULL;
}

const struct yaml_node *import_key(struct import *im, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *found = import_peek(map, key);

	for (const struct yaml_node *v = found ? found->next : NULL; v; v = v->next)
		if (!strcmp(v->key->text, key))
			import_fail(im, v->key, "keep one of them", "duplicate key `%.64s`", key);
	return found;
}

const struct yaml_node *import_list(struct import *im, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = import_key(im, map, key);

	if (!v || v->is_null)
		return NULL;
	if (v->kind == YAML_LIST)
		return v;
	import_fail(im, v, "write [a, b]", "`%s` must be a list", key);
	return NULL;
}

const struct yaml_node *import_scalar(
	struct import *im, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = import_key(im, map, key);

	if (!v || v->is_null)
		return NULL;
	if (v->kind == YAML_SCALAR && v->len)
		return v;
	import_fail(im, v, "write one word", "`%s` must be a single value", key);
	return NULL;
}

bool import_flag(struct import *im, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = import_key(im, map, key);

	if (!v || v->is_null)
		return false;
	if (v->kind == YAML_SCALAR && v->is_plain &&
		(!strcmp(v->text, "true") || !strcmp(v->text, "false")))
		return v->text[0] == 't';
	import_fail(im, v, "write true or false", "`%s` must be true or false", key);
	return false;
}

static bool has_word(const char *key, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(key, *words))
			return true;
	return false;
}

static bool is_denial(const char *key)
{
	static const char *const words[] = {"block", "deny", "denied", "forbid", "disallow", NULL};

	return has_word(key, words);
}

/* Of the network, in a map that may hold denials of other things (tools, files). */
static bool is_network(const char *key)
{
	static const char *const words[] = {
		"host", "url", "domain", "cidr", "addr", "net", "egress", "list", NULL};

	return has_word(key, words) || !strcasecmp(key, "block") || !strcasecmp(key, "deny");
}

bool import_unknown_key(struct import *im, const struct yaml_node *key)
{
	if (is_denial(key->text)) {
		import_fail(im, key, "look for a letter too much or too few",
			"`%.64s` is unknown here, and may deny something", key->text);
		return true;
	}
	import_note(im, key->line, true, "`%s` is unknown here and opens nothing", key->text);
	return false;
}

void import_check_denials(
	struct import *im, const struct yaml_node *map, const char *const *known, size_t n_known)
{
	for (const struct yaml_node *v = map && map->kind == YAML_MAP ? map->first : NULL; v;
		v = v->next) {
		bool is_known = false;

		for (size_t i = 0; i < n_known; i++)
			is_known = is_known || !strcmp(known[i], v->key->text);
		if (!is_known && is_denial(v->key->text) && is_network(v->key->text))
			import_unknown_key(im, v->key);
	}
}

/* --- adding */

void import_fail(
	struct import *im, const struct yaml_node *at, const char *mend, const char *what, ...)
{
	char text[256];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	err_add(im->errs, at->line, at->column, mend, "%s", text);
}

__attribute__((format(printf, 2, 0))) static const char *print(
	struct import *im, const char *fmt, va_list args)
{
	const char *text = NULL;
	char *out = NULL;
	int n = vasprintf(&out, fmt, args);

	if (n >= 0)
		text = arena_copy(&im->arena, out, (size_t)n);
	else
		im->arena.is_failed = true;
	free(out);
	return text ? text : "";
}

const char *import_printf(struct import *im, const char *fmt, ...)
{
	const char *text;
	va_list args;

	va_start(args, fmt);
	text = print(im, fmt, args);
	va_end(args);
	return text;
}

void import_note(struct import *im, unsigned int line, bool is_lost, const char *what, ...)
{
	struct import_note note = {.line = line, .is_lost = is_lost};
	va_list args;

	va_start(args, what);
	note.text = print(im, what, args);
	va_end(args);
	buf_add(&im->notes, &note, sizeof(note));
}

/* Length of a text that is cut between characters. */
static int shown(const char *s, size_t len)
{
	if (len <= MAX_TEXT_BYTES)
		return (int)len;
	len = MAX_TEXT_BYTES;
	while (len && ((unsigned char)s[len] & 0xc0) == 0x80)
		len--;
	return (int)len;
}

struct import_rule *import_rule(
	struct import *im, bool is_deny, const char *key, const struct yaml_node *entry)
{
	struct import_rule rule = {
		.is_deny = is_deny, .line = entry->line, .column = entry->column};

	rule.text = import_printf(im, "%s: %.*s", key,
		entry->kind == YAML_SCALAR ? shown(entry->text, entry->len) : 0,
		entry->kind == YAML_SCALAR ? entry->text : "");
	if (DRAFT_COUNT(im->rules, struct import_rule) == NEJ_MAX_RULES) {
		import_fail(im, entry, NULL, "more than %d entries", NEJ_MAX_RULES);
		return NULL;
	}
	buf_add(&im->rules, &rule, sizeof(rule));
	if (im->rules.is_failed)
		return NULL;
	return DRAFT_AT(im->rules, struct import_rule, im->rules.len / sizeof(rule) - 1);
}

bool import_target(struct import *im, struct import_rule *rule, const struct yaml_node *entry,
	const char *target)
{
	struct pattern_error why;
	struct pattern p = {0};

	if (!rule)
		return false;
	if (pattern_parse(&im->arena, target, strlen(target), &p, &why) < 0) {
		import_fail(im, entry, why.mend, "%s", why.what);
		return false;
	}
	if (rule->n_targets == IMPORT_MAX_TARGETS)
		return false;
	rule->targets[rule->n_targets++] = target;
	return true;
}

/* --- hosts */

static const char *range_text(struct import *im, const struct prefix *p)
{
	char addr[ADDR_TEXT_BYTES];
	bool is_v4 = addr_is_v4(&p->addr) && p->bits >= 96;
	unsigned int bits = p->bits - (is_v4 ? 96u : 0u), full = is_v4 ? 32 : 128;

	addr_print(&p->addr, addr);
	if (bits == full)
		return import_printf(im, is_v4 ? "%s" : "[%s]", addr);
	return import_printf(im, is_v4 ? "%s/%u" : "[%s]/%u", addr, bits);
}

static bool is_local(const struct pattern *p)
{
	struct host h;

	if (p->kind == PATTERN_RANGE)
		return addr_classify(&p->prefix.addr, NULL) == NEJ_RANGE_LOOPBACK &&
			p->prefix.bits >= 96 + 8;
	return p->name && !host_parse(p->name, p->name_len, &h) && h.is_local;
}

static bool take_pattern(struct import *im, const struct yaml_node *entry, const struct pattern *p,
	struct import_host *ret)
{
	static const enum import_host_kind kinds[] = {
		[PATTERN_NAME] = IMPORT_HOST_NAME,
		[PATTERN_TREE] = IMPORT_HOST_DOT,
		[PATTERN_UNDER] = IMPORT_HOST_STAR,
		[PATTERN_ANY] = IMPORT_HOST_EVERY,
		[PATTERN_RANGE] = IMPORT_HOST_ADDR,
	};

	if (p->has_port && p->first != p->last) {
		import_fail(
			im, entry, "write one port", "a range of ports in `%.64s`", entry->text);
		return false;
	}
	*ret = (struct import_host){.kind = kinds[p->kind],
		.port = p->has_port ? p->first : 0,
		.is_local = is_local(p)};
	ret->name = p->kind == PATTERN_RANGE ? range_text(im, &p->prefix)
		: p->kind == PATTERN_ANY     ? "*"
					     : p->name;
	return true;
}

bool import_host(struct import *im, const struct yaml_node *entry, const char *text, size_t len,
	struct import_host *ret)
{
	struct pattern_error why;
	struct pattern p = {0};

	if (memmem(text, len, " ", 1) || memmem(text, len, "://", 3)) {
		import_fail(im, entry, "write the host alone", "`%.64s` is more than a host",
			entry->text);
		return false;
	}
	if (prefix_parse(text, len, &p.prefix) == 0) { /* IPv6 without brackets too */
		p.kind = PATTERN_RANGE;
		return take_pattern(im, entry, &p, ret);
	}
	if (pattern_parse(&im->arena, text, len, &p, &why) < 0) {
		import_fail(im, entry, why.mend, "%s", why.what);
		return false;
	}
	/* A path that matches everything leaves no trace in the pattern. */
	if (p.kind != PATTERN_RANGE && memchr(text, '/', len)) {
		import_fail(im, entry, "write the host alone", "`%.64s` is more than a host",
			entry->text);
		return false;
	}
	return take_pattern(im, entry, &p, ret);
}

bool import_has_odd_star(const char *text)
{
	const char *star = strchr(text, '*');

	return star &&
		(star != text || (star[1] && star[1] != '.' && star[1] != ':') ||
			strchr(star + 1, '*'));
}

void import_open_range(struct import *im, unsigned int line, const char *range)
{
	char plain[2 * ADDR_TEXT_BYTES];
	const char *text = plain;
	struct prefix p;
	size_t n = 0;

	for (const char *c = range; *c && n + 1 < sizeof(plain); c++)
		if (*c != '[' && *c != ']')
			plain[n++] = *c;
	plain[n] = 0;
	if (prefix_parse(plain, n, &p) < 0)
		return;
	switch (addr_classify(&p.addr, NULL)) {
	case NEJ_RANGE_PRIVATE:
		for (size_t i = 0; i < DRAFT_COUNT(im->privates, const char *); i++)
			if (!strcmp(*DRAFT_AT(im->privates, const char *, i), plain))
				return;
		text = import_printf(im, "%s", plain);
		if (DRAFT_COUNT(im->privates, const char *) == DRAFT_MAX_ENTRIES) {
			err_add(im->errs, line, 0, NULL, "more than %d private ranges",
				DRAFT_MAX_ENTRIES);
			return;
		}
		buf_add(&im->privates, &text, sizeof(text));
		import_note(im, line, false, "allowed names may resolve to %s too", plain);
		break;
	case NEJ_RANGE_GLOBAL:
		break;
	default:
		import_note(im, line, true,
			"loopback, link-local and multicast addresses of %s stay closed", plain);
	}
}
