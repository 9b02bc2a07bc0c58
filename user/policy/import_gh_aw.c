/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gh-aw: `network` of a workflow's front matter, awf's options and its configuration. A name means
 * itself and what is below it, on ports 80 and 443; blocked names win.
 */
#include "import_formats.h"

#include <string.h>
#include <strings.h>

struct list {
	bool is_deny;
	const char *key;
};

/* A word that is no name: `python`, `node`; a set of hosts that changes from version to version. */
static bool is_ecosystem(const char *s)
{
	return !strpbrk(s, ".:/*[") && strcasecmp(s, "localhost") != 0;
}

static const char *scheme_of(const char **text, size_t *len)
{
	static const char *const schemes[] = {"https://", "http://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncasecmp(*text, schemes[i], strlen(schemes[i]))) {
			*text += strlen(schemes[i]);
			*len -= strlen(schemes[i]);
			return schemes[i];
		}
	return "";
}

static bool is_sayable(struct import *im, const struct yaml_node *entry, const struct list *list)
{
	if (is_ecosystem(entry->text)) {
		if (list->is_deny)
			import_fail(im, entry, "write the hosts it stands for",
				"the hosts of `%.64s` are not known here", entry->text);
		else
			import_note(im, entry->line, true,
				"the hosts of `%s` are not known here, and stay closed",
				entry->text);
		return false;
	}
	if (!import_has_odd_star(
		    strstr(entry->text, "://") ? strstr(entry->text, "://") + 3 : entry->text))
		return true;
	if (list->is_deny)
		import_fail(im, entry, "write the names it stands for",
			"`%.64s`: a star can only stand for whole names here", entry->text);
	else
		import_note(im, entry->line, true,
			"`%s`: a star can only stand for whole names here, so it stays closed",
			entry->text);
	return false;
}

static void take_domain(struct import *im, const struct yaml_node *entry, void *arg)
{
	const struct list *list = arg;
	const char *text = entry->text, *scheme;
	size_t len = entry->len;
	struct import_host host;

	if (!is_sayable(im, entry, list))
		return;
	scheme = scheme_of(&text, &len);
	if (len && text[len - 1] == '/')
		len--;
	if (!import_host(im, entry, text, len, &host))
		return;
	if (host.is_local && !list->is_deny) {
		import_note(im, entry->line, true,
			"`%s`: the host's loopback stays closed; open its ports with `host_ports`",
			entry->text);
		return;
	}
	if (host.port || (host.kind == IMPORT_HOST_EVERY && !list->is_deny)) {
		import_fail(im, entry, "write a name", "`%.64s` is no domain", entry->text);
		return;
	}
	if (host.kind == IMPORT_HOST_ADDR && !list->is_deny)
		import_open_range(im, entry->line, host.name);
	import_target(im, import_rule(im, list->is_deny, list->key, entry), entry,
		import_printf(im, "%s%s%s", list->is_deny ? "" : scheme,
			host.kind == IMPORT_HOST_STAR ? "*."
				: host.kind == IMPORT_HOST_NAME || host.kind == IMPORT_HOST_DOT
				? "."
				: "",
			host.name));
}

/* --- URLs that alone are open on their hosts */

static void take_url(struct import *im, const struct yaml_node *entry, void *arg)
{
	const char *from = entry->text, *path;
	struct import_host host;
	size_t len = entry->len;

	(void)arg;
	if (strcmp(scheme_of(&from, &len), "https://") != 0 || !strchr(from, '/')) {
		import_fail(im, entry, "write https://host/path", "`%.64s` is no URL pattern",
			entry->text);
		return;
	}
	path = strchr(from, '/');
	if (!import_host(im, entry, from, (size_t)(path - from), &host))
		return;
	if (host.kind != IMPORT_HOST_NAME || host.port || strpbrk(path, "?#[")) {
		import_note(im, entry->line, true, "`%s` cannot be said here, and stays closed",
			entry->text);
		return;
	}
	import_target(im, import_rule(im, false, "allow-urls", entry), entry,
		import_printf(im, "https://%s%s", host.name, path));
}

/* The rest of these hosts is closed, whatever `allowed` says of them. */
static void close_url(struct import *im, const struct yaml_node *entry, void *arg)
{
	const char *from = entry->text, *path;
	struct import_host host;
	size_t len = entry->len;

	(void)arg;
	scheme_of(&from, &len);
	path = strchr(from, '/');
	if (path && import_host(im, entry, from, (size_t)(path - from), &host) &&
		(host.kind == IMPORT_HOST_NAME || host.kind == IMPORT_HOST_STAR))
		import_target(im, import_rule(im, true, "allow-urls (all else)", entry), entry,
			import_printf(
				im, "%s%s", host.kind == IMPORT_HOST_STAR ? "*." : "", host.name));
}

/* --- the front matter, and awf's configuration */

static void each(struct import *im, const struct yaml_node *list,
	void (*take)(struct import *im, const struct yaml_node *entry, void *arg), void *arg)
{
	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next) {
		if (e->kind == YAML_SCALAR && e->len)
			take(im, e, arg);
		else
			import_fail(im, e, "write a name", "an entry must be a name");
	}
}

static void note_keys(struct import *im, const struct yaml_node *network)
{
	static const char *const read[] = {
		"allowed", "blocked", "allowDomains", "blockDomains", "firewall"};

	for (const struct yaml_node *v = network->first; v; v = v->next) {
		bool is_read = false;

		for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
			is_read = is_read || !strcmp(read[i], v->key->text);
		if (!is_read)
			import_unknown_key(im, v->key);
	}
}

static void read_network(struct import *im, const struct yaml_node *network)
{
	struct list lists[] = {
		{.is_deny = true, .key = "blocked"},
		{.is_deny = true, .key = "blockDomains"},
		{.key = "allowed"},
		{.key = "allowDomains"},
	};
	const struct yaml_node *firewall = import_peek(network, "firewall");
	const struct yaml_node *urls = import_list(im, firewall, "allow-urls");

	note_keys(im, network);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (i == 2) {
			each(im, urls, take_url, NULL);
			each(im, urls, close_url, NULL);
		}
		each(im, import_list(im, network, lists[i].key), take_domain, &lists[i]);
	}
}

/* --- awf's options */

static const struct option {
	const char *name;
	struct list list; /* key NULL: a file that is not read */
} options[] = {
	{"--block-domains", {true, "--block-domains"}},
	{"--allow-domains", {false, "--allow-domains"}},
	{"-d", {false, "--allow-domains"}},
	{"--block-domains-file", {true, NULL}},
	{"--allow-domains-file", {false, NULL}},
	{"--ruleset-file", {false, NULL}},
	{"--allow-urls", {false, "--allow-urls"}},
};

/* The option a word is, and its value when it stands behind `=`. */
static const struct option *option_of(const char *word, const char **ret_value)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t n = strlen(options[i].name);

		if (strncmp(word, options[i].name, n) != 0 || (word[n] && word[n] != '='))
			continue;
		*ret_value = word[n] ? word + n + 1 : NULL;
		return &options[i];
	}
	return NULL;
}

static void take_value(struct import *im, const struct option *o, const struct yaml_node *value)
{
	struct list list = o->list;

	if (!list.key && list.is_deny)
		import_fail(im, value, "import the file itself with --from gh-aw",
			"`%.64s` is not read", value->text);
	else if (!list.key)
		import_note(im, value->line, true, "`%s` is not read: what it allows stays closed",
			value->text);
	else if (!strcmp(list.key, "--allow-urls"))
		import_each_piece(im, value, take_url, NULL);
	else
		import_each_piece(im, value, take_domain, &list);
}

/* One pass over the words for each kind of option: what closes first, then URLs, then names. */
static bool read_options(struct import *im, int pass)
{
	struct import_words words;
	struct yaml_node word;
	bool is_any = false;

	import_words_init(im, &words);
	while (import_next_word(im, &words, &word)) {
		const char *text = NULL;
		const struct option *o = option_of(word.text, &text);
		bool is_url = o && o->list.key && !strcmp(o->list.key, "--allow-urls");
		int own = !o ? -1 : o->list.is_deny ? 0 : is_url ? 1 : 3;

		if (!o || (!text && !import_next_word(im, &words, &word)))
			continue;
		is_any = true;
		if (text) {
			word.text = text;
			word.len = strlen(text);
		}
		if (own == pass)
			take_value(im, o, &word);
		else if (is_url && pass == 2)
			import_each_piece(im, &word, close_url, NULL);
	}
	return is_any;
}

/* One name a line, or between commas. */
static void read_file(struct import *im)
{
	struct list allowed = {.key = "allowed"};
	struct import_words words;
	struct yaml_node word;

	import_words_init(im, &words);
	while (import_next_word(im, &words, &word))
		import_each_piece(im, &word, take_domain, &allowed);
}

void import_read_gh_aw(struct import *im, const struct yaml_node *root)
{
	const struct yaml_node *network = root ? import_key(im, root, "network") : NULL;
	bool is_any = false;

	if (!root) {
		for (int pass = 0; pass <= 3; pass++)
			is_any = read_options(im, pass);
		if (!is_any)
			read_file(im);
		return;
	}
	if (network && network->kind == YAML_MAP)
		read_network(im, network);
	else if (network && network->kind == YAML_LIST)
		import_fail(
			im, network, "write network: {allowed: [...]}", "`network` must be a map");
	else
		import_note(im, network ? network->line : 1, true,
			"the hosts of `defaults` are not known here, and stay closed");
}
