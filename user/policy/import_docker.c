/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Docker's sandboxes: `docker sandbox network proxy` and `sbx policy` as command lines, and the
 * same lists in YAML or JSON (kits' `network`). Of the former the narrowest pattern wins, of the
 * others a denial.
 */
#include "import_formats.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"

enum kind {
	KIND_POLICY,
	KIND_ALLOW,
	KIND_BLOCK,
	KIND_BYPASS,
	KIND_ALLOW_RANGE,
	KIND_BLOCK_RANGE,
	KIND_BYPASS_RANGE,
};

/* Options of the one command; the same words, spelled any way, are keys of a file. */
static const struct {
	const char *option, *word;
	enum kind kind;
} options[] = {
	{"--policy", "policy", KIND_POLICY},
	{"--allow-host", "allowhost", KIND_ALLOW},
	{"--block-host", "blockhost", KIND_BLOCK},
	{"--bypass-host", "bypasshost", KIND_BYPASS},
	{"--allow-cidr", "allowcidr", KIND_ALLOW_RANGE},
	{"--block-cidr", "blockcidr", KIND_BLOCK_RANGE},
	{"--bypass-cidr", "bypasscidr", KIND_BYPASS_RANGE},
};

#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

struct pattern_entry {
	struct import_host host;
	struct yaml_node entry;
	const char *key;
	bool is_deny;
	size_t order;
};

struct docker {
	struct buf patterns; /* struct pattern_entry */
	struct buf requests; /* of `sbx policy`, import_requests.c */
	const struct yaml_node *policy;
	struct yaml_node policy_word;
	bool has_proxy, has_sbx;
};

static const char *star_of(const struct import_host *h)
{
	return h->kind == IMPORT_HOST_STAR ? "*." : "";
}

/* --- docker sandbox network proxy */

static void take_pattern(struct import *im, struct docker *d, bool is_deny, const char *key,
	const struct yaml_node *entry)
{
	struct pattern_entry p = {
		.entry = *entry, .key = key, .is_deny = is_deny, .order = d->patterns.len};

	if (!import_host(im, entry, entry->text, entry->len, &p.host))
		return;
	if (p.host.kind == IMPORT_HOST_DOT) {
		import_fail(im, entry, "write a name, or *.name", "`%.64s` is no host pattern",
			entry->text);
		return;
	}
	if (p.host.is_local && !is_deny) {
		import_note(im, entry->line, true,
			"`%s`: the host's loopback stays closed; open its ports with `host_ports`",
			entry->text);
		return;
	}
	if (p.host.kind == IMPORT_HOST_ADDR && !is_deny)
		import_open_range(im, entry->line, p.host.name);
	buf_add(&d->patterns, &p, sizeof(p));
}

static void take_range(
	struct import *im, struct docker *d, enum kind kind, const struct yaml_node *entry)
{
	struct import_host host;

	if (!import_host(im, entry, entry->text, entry->len, &host))
		return;
	if (host.kind != IMPORT_HOST_ADDR) {
		import_fail(
			im, entry, "write 10.0.0.0/8", "`%.64s` is no address range", entry->text);
		return;
	}
	if (kind == KIND_ALLOW_RANGE) {
		import_open_range(im, entry->line, host.name);
		import_note(im, entry->line, true, "`%s` as addresses without a name stays closed",
			host.name);
	} else if (kind == KIND_BLOCK_RANGE) {
		import_note(im, entry->line, true,
			"`%s` is denied as an address; an allowed name that resolves to it is "
			"refused only if it is not global",
			host.name);
		take_pattern(im, d, true, "--block-cidr", entry);
	}
}

static void take_option(
	struct import *im, struct docker *d, enum kind kind, const struct yaml_node *value)
{
	d->has_proxy = true;
	switch (kind) {
	case KIND_POLICY:
		d->policy_word = *value;
		d->policy = &d->policy_word;
		if (strcmp(value->text, "allow") != 0 && strcmp(value->text, "deny") != 0)
			import_fail(im, value, "write allow or deny", "`%.64s` is no policy",
				value->text);
		break;
	case KIND_ALLOW:
		take_pattern(im, d, false, "--allow-host", value);
		break;
	case KIND_BLOCK:
		take_pattern(im, d, true, "--block-host", value);
		break;
	case KIND_BYPASS:
	case KIND_BYPASS_RANGE:
		import_note(im, value->line, true,
			"`%s`: nej opens TLS only where a rule asks for it; the bypass allows "
			"nothing",
			value->text);
		break;
	case KIND_ALLOW_RANGE:
	case KIND_BLOCK_RANGE:
		take_range(im, d, kind, value);
		break;
	}
}

/* How narrow a pattern is: names before stars before every name, a port before none. */
static int rank(const struct pattern_entry *p)
{
	int kind = p->host.kind == IMPORT_HOST_EVERY ? 2 : p->host.kind == IMPORT_HOST_STAR ? 1 : 0;

	return 2 * kind + !p->host.port;
}

static int compare(const void *a, const void *b)
{
	const struct pattern_entry *x = a, *y = b;
	size_t x_len = strlen(x->host.name), y_len = strlen(y->host.name);

	/* Of stars the longest, whatever its port: it goes with the name. */
	if (x->host.kind == IMPORT_HOST_STAR && y->host.kind == IMPORT_HOST_STAR && x_len != y_len)
		return x_len > y_len ? -1 : 1;
	if (rank(x) != rank(y))
		return rank(x) < rank(y) ? -1 : 1;
	if (x->is_deny != y->is_deny)
		return x->is_deny ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* HTTP and HTTPS are all that this proxy lets through. */
static void put_pattern(struct import *im, const struct pattern_entry *p)
{
	struct import_rule *rule = import_rule(im, p->is_deny, p->key, &p->entry);
	const char *host = import_printf(im, "%s%s", star_of(&p->host), p->host.name);

	if (p->is_deny) {
		import_target(im, rule, &p->entry,
			p->host.port ? import_printf(im, "%s:%u", host, (unsigned int)p->host.port)
				     : host);
		return;
	}
	for (int i = 0; i < 2; i++)
		import_target(im, rule, &p->entry,
			p->host.port ? import_printf(im, "%s://%s:%u", i ? "http" : "https", host,
					       (unsigned int)p->host.port)
				     : import_printf(im, "%s://%s:*", i ? "http" : "https", host));
}

static void put_default(struct import *im, const struct docker *d)
{
	struct yaml_node nowhere = {.kind = YAML_SCALAR, .line = 1, .column = 1, .text = "allow"};
	const struct yaml_node *entry = d->policy ? d->policy : &nowhere;
	struct import_rule *rule;

	if (!d->policy)
		import_note(im, 1, true, "no --policy: what no pattern names is denied");
	if (!d->policy || strcmp(d->policy->text, "allow") != 0)
		return;
	rule = import_rule(im, false, "--policy", entry);
	import_target(im, rule, entry, "https://*:*");
	import_target(im, rule, entry, "http://*:*");
	import_note(im, entry->line, true, "addresses are reached only by a rule of their own");
}

/* --- sbx policy allow|deny network */

struct sbx {
	bool is_deny, is_udp;
	struct docker *docker;
	const char *methods, *path;
};

static void take_resource(struct import *im, const struct yaml_node *entry, void *arg)
{
	const struct sbx *s = arg;
	const char *text = entry->text;
	struct import_request request = {.entry = entry,
		.key = s->is_deny ? "deny network" : "allow network",
		.methods = s->methods,
		.path = s->path};
	struct import_host host;

	if (!strncmp(text, "**", 2) && (!text[2] || text[2] == '.' || text[2] == ':'))
		text++;
	else if (!strncmp(text, "*.", 2) && !s->is_deny)
		import_note(im, entry->line, true,
			"`%s` is one label there, and names at any depth here", text);
	if (!import_host(im, entry, text, strlen(text), &host))
		return;
	if (host.is_local && !s->is_deny) {
		import_note(im, entry->line, true,
			"`%s`: the host's loopback stays closed; open its ports with `host_ports`",
			entry->text);
		return;
	}
	if (s->is_udp && !s->is_deny) {
		import_note(im, entry->line, true, "UDP to `%s` stays closed", entry->text);
		return;
	}
	if (host.kind == IMPORT_HOST_DOT) {
		import_fail(im, entry, "write a name, *.name or **.name", "`%.64s` is no host",
			entry->text);
		return;
	}
	if (host.kind == IMPORT_HOST_ADDR && !s->is_deny)
		import_open_range(im, entry->line, host.name);
	request.host = import_printf(im, "%s%s", star_of(&host), host.name);
	if (host.port)
		request.host = import_printf(im, "%s:%u", request.host, (unsigned int)host.port);
	else if (!s->is_deny || s->methods || s->path)
		request.host = import_printf(im, "%s:*", request.host);
	import_add_request(im, &s->docker->requests, s->is_deny, &request);
}

static const char *upper(struct import *im, const char *methods)
{
	char text[128];
	size_t n = 0;

	for (; methods[n] && n + 1 < sizeof(text); n++)
		text[n] = methods[n] >= 'a' && methods[n] <= 'z' ? (char)(methods[n] - 'a' + 'A')
								 : methods[n];
	text[n] = 0;
	return strcmp(text, "ANY") ? import_printf(im, "%s", text) : NULL;
}

/* The words behind `sbx policy allow network`, up to the line's end; the next line's first word is
 * left in *word. */
static bool read_sbx(struct import *im, struct docker *d, struct import_words *words,
	struct yaml_node *word, bool is_deny)
{
	struct sbx s = {.is_deny = is_deny, .docker = d};
	struct yaml_node resources[16];
	size_t n = 0;
	bool is_more;

	d->has_sbx = true;
	while ((is_more = import_next_word(im, words, word)) && !word->is_plain) {
		struct yaml_node option = *word;

		if (option.text[0] != '-') {
			if (n < sizeof(resources) / sizeof(resources[0]))
				resources[n++] = option;
			else
				import_fail(im, word, "write them between commas",
					"too many resources");
			continue;
		}
		is_more = import_next_word(im, words, word);
		if (!is_more || word->is_plain)
			break;
		if (!strcmp(option.text, "--method"))
			s.methods = upper(im, word->text);
		else if (!strcmp(option.text, "--path"))
			s.path = word->text;
		else if (!strcmp(option.text, "--protocol"))
			s.is_udp = !strcmp(word->text, "udp");
		else
			import_note(im, word->line, true, "`%s %s` is not looked at", option.text,
				word->text);
	}
	for (size_t i = 0; i < n; i++)
		import_each_piece(im, &resources[i], take_resource, &s);
	return is_more;
}

/* --- command lines */

static const char *value_of(const char *word, const char *option)
{
	size_t n = strlen(option);

	return !strncmp(word, option, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static void read_word(struct import *im, struct docker *d, struct import_words *words,
	const struct yaml_node *word)
{
	struct sbx denied = {.is_deny = true, .docker = d};
	struct yaml_node value = *word;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const char *text = value_of(word->text, options[i].option);

		if (text) {
			value.text = text;
			value.len = strlen(text);
			take_option(im, d, options[i].kind, &value);
			return;
		}
		if (strcmp(word->text, options[i].option) != 0)
			continue;
		if (import_next_word(im, words, &value))
			take_option(im, d, options[i].kind, &value);
		else
			import_fail(im, word, NULL, "`%s` without a value", word->text);
		return;
	}
	if (!strcmp(word->text, "--deny-network") && import_next_word(im, words, &value))
		import_each_piece(im, &value, take_resource, &denied);
	else if (word->text[0] == '-')
		import_note(im, word->line, true, "`%s` is not looked at", word->text);
}

static void read_commands(struct import *im, struct docker *d)
{
	const char *second = "", *third = "";
	struct import_words words;
	struct yaml_node word;
	bool is_more;

	import_words_init(im, &words);
	is_more = import_next_word(im, &words, &word);
	while (is_more) {
		if (!strcmp(word.text, "network") && !strcmp(third, "policy") &&
			(!strcmp(second, "allow") || !strcmp(second, "deny"))) {
			is_more = read_sbx(im, d, &words, &word, !strcmp(second, "deny"));
			second = third = "";
			continue;
		}
		if (!strcmp(second, "policy") &&
			(!strcmp(word.text, "rm") || !strcmp(word.text, "reset")))
			import_fail(im, &word, "take it and the rules it removes away",
				"`sbx policy %s` is not carried out", word.text);
		third = second;
		second = word.text;
		read_word(im, d, &words, &word);
		is_more = import_next_word(im, &words, &word);
	}
}

/* --- files */

/* `allowedHosts`, `allow-host`, `allow_hosts` are one word. */
static bool is_word(const char *key, const char *word)
{
	char plain[32];
	size_t n = 0;

	for (; *key && n + 1 < sizeof(plain); key++)
		if (*key != '-' && *key != '_')
			plain[n++] = *key >= 'A' && *key <= 'Z' ? (char)(*key - 'A' + 'a') : *key;
	plain[n] = 0;
	if (n > 5 && (!strncmp(plain, "allowed", 7) || !strncmp(plain, "blocked", 7)))
		memmove(plain + 5, plain + 7, strlen(plain + 7) + 1);
	n = strlen(plain);
	if (n && plain[n - 1] == 's')
		plain[n - 1] = 0;
	return !strcmp(plain, word);
}

static void read_values(
	struct import *im, struct docker *d, enum kind kind, const struct yaml_node *v)
{
	if (v->kind == YAML_MAP)
		import_fail(im, v, "write [a, b]", "`%.64s` must be a list", v->key->text);
	if (v->kind == YAML_SCALAR && !v->is_null)
		take_option(im, d, kind, v);
	for (const struct yaml_node *e = v->kind == YAML_LIST ? v->first : NULL; e; e = e->next)
		if (e->kind == YAML_SCALAR && e->len)
			take_option(im, d, kind, e);
		else
			import_fail(im, e, NULL, "an entry must be a host");
}

static void read_options(struct import *im, struct docker *d, const struct yaml_node *map)
{
	const char *known[N_OPTIONS + 1] = {"deniedDomains"};
	size_t n_known = 1;

	for (const struct yaml_node *v = map ? map->first : NULL; v; v = v->next)
		for (size_t i = 0; i < N_OPTIONS; i++)
			if (is_word(v->key->text, options[i].word)) {
				if (n_known < sizeof(known) / sizeof(known[0]))
					known[n_known++] = v->key->text;
				read_values(im, d, options[i].kind, v);
			}
	import_check_denials(im, map, known, n_known);
}

static void read_kit_list(
	struct import *im, struct docker *d, const struct yaml_node *list, bool is_deny)
{
	struct sbx s = {.is_deny = is_deny, .docker = d};

	if (list)
		d->has_sbx = true;
	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next) {
		if (e->kind == YAML_SCALAR && e->len)
			take_resource(im, e, &s);
		else
			import_fail(im, e, NULL, "an entry must be a host");
	}
}

static void read_file(struct import *im, struct docker *d, const struct yaml_node *root)
{
	const struct yaml_node *network = import_peek(root, "network");
	const struct yaml_node *permissions = import_peek(root, "permissions");
	const struct yaml_node *kit = import_peek(permissions, "network");
	static const char *const deny = "deny";

	if (network && network->kind != YAML_MAP)
		network = NULL;
	read_options(im, d, root);
	read_options(im, d, network);
	if (kit && kit->kind != YAML_MAP)
		kit = NULL;
	import_check_denials(im, kit, &deny, 1);
	read_kit_list(im, d, import_list(im, network, "deniedDomains"), true);
	read_kit_list(im, d, import_list(im, network, "allowedDomains"), false);
	read_kit_list(im, d, import_list(im, kit, "deny"), true);
	read_kit_list(im, d, import_list(im, kit, "allow"), false);
}

static void docker_done(struct docker *d)
{
	buf_done(&d->patterns);
	buf_done(&d->requests);
}

void import_read_docker(struct import *im, const struct yaml_node *root)
{
	_cleanup_(docker_done)
	struct docker d = {0};
	size_t n;

	buf_init(&d.patterns);
	buf_init(&d.requests);
	if (root)
		read_file(im, &d, root);
	else
		read_commands(im, &d);
	n = DRAFT_COUNT(d.patterns, struct pattern_entry);
	if (d.patterns.is_failed)
		im->rules.is_failed = true;
	else if (n)
		qsort(d.patterns.data, n, sizeof(struct pattern_entry), compare);
	import_put_requests(im, &d.requests);
	for (size_t i = 0; i < n && !d.patterns.is_failed; i++)
		put_pattern(im, DRAFT_AT(d.patterns, struct pattern_entry, i));
	if (d.has_proxy)
		put_default(im, &d);
	else if (d.has_sbx)
		import_note(im, 1, false,
			"presets, kits and the organisation's rules are not known here");
	else
		import_note(im, 1, true, "no list of hosts was found: nothing is open");
}
