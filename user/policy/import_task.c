/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Agentfiles (`sandbox.network.allowed_hosts`) and tasks (`sandbox.network_mode` with
 * `allowed_hosts`, `blocked_urls`, `blocked_hosts`). These two are also run as they are: policy.c.
 */
#include "import_formats.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"
#include "../wire/url.h"

enum mode {
	MODE_NONE, /* not written */
	MODE_PUBLIC,
	MODE_NO_NETWORK,
	MODE_ALLOWLIST,
	MODE_DENYLIST,
};

static const char *const mode_words[] = {
	[MODE_PUBLIC] = "public",
	[MODE_NO_NETWORK] = "no-network",
	[MODE_ALLOWLIST] = "allowlist",
	[MODE_DENYLIST] = "denylist",
};

/* The maps that may hold the keys: the agent's own come before the sandbox's. */
struct task {
	const struct yaml_node *maps[3];
	enum mode mode;
	bool is_agents; /* the mode is the agent's own */
	unsigned int mode_line;
};

/* --- allowed_hosts */

static bool is_lower(const char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			return false;
	return true;
}

static void allow_range(struct import *im, const struct yaml_node *entry, const char *range)
{
	struct import_rule *rule = import_rule(im, false, "allowed_hosts", entry);

	import_target(im, rule, entry, import_printf(im, "%s:*", range));
	import_open_range(im, entry->line, range);
	import_note(im, entry->line, false, "%s: TCP on every port; UDP stays denied", range);
}

static void allow_host(struct import *im, const struct yaml_node *entry)
{
	static const char *const prefixes[] = {
		[IMPORT_HOST_NAME] = "",
		[IMPORT_HOST_DOT] = ".",
		[IMPORT_HOST_STAR] = "*.",
	};
	struct import_host host;

	if (entry->kind != YAML_SCALAR || !entry->len) {
		import_fail(im, entry, "write a host, such as api.example.com",
			"an entry of allowed_hosts must be a host");
		return;
	}
	if (!import_host(im, entry, entry->text, entry->len, &host))
		return;
	if (host.kind == IMPORT_HOST_ADDR && !host.port) {
		allow_range(im, entry, host.name);
		return;
	}
	if (host.port || host.kind == IMPORT_HOST_EVERY || host.kind == IMPORT_HOST_ADDR) {
		import_fail(im, entry, "write a name, .name for the names below it too",
			"`%.64s` is no entry of allowed_hosts", entry->text);
		return;
	}
	if (!is_lower(entry->text))
		import_note(im, entry->line, false, "`%s` is read in lower case", entry->text);
	import_target(im, import_rule(im, false, "allowed_hosts", entry), entry,
		import_printf(im, "%s%s", prefixes[host.kind], host.name));
}

/* --- blocked_hosts */

static void block_host(struct import *im, const struct yaml_node *entry)
{
	struct import_host host;

	if (entry->kind != YAML_SCALAR || !entry->len) {
		import_fail(im, entry, "write a host, such as mirror.example.com",
			"an entry of blocked_hosts must be a host");
		return;
	}
	if (!import_host(im, entry, entry->text, entry->len, &host))
		return;
	if (host.port)
		import_note(im, entry->line, false, "`%s` is denied on every port", host.name);
	if (host.kind == IMPORT_HOST_STAR)
		import_note(im, entry->line, false, "`%s` itself is denied too", host.name);
	import_target(im, import_rule(im, true, "blocked_hosts", entry), entry,
		import_printf(im, "%s%s",
			host.kind == IMPORT_HOST_ADDR || host.kind == IMPORT_HOST_EVERY ? "" : ".",
			host.name));
}

/* --- blocked_urls: `[SCHEME://][www.]HOST[:PORT][/PATH]`, every URL that begins so */

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		strchr("-._~/", c) != NULL;
}

/* Blanks and control bytes, which no request line can hold as they are, as their escapes. */
static int escape_blanks(const char *path, size_t len, struct buf *ret)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] <= ' ' || path[i] == 0x7f)
			buf_printf(ret, "%%%02X", (unsigned char)path[i]);
		else
			buf_add_char(ret, path[i]);
	return ret->is_failed ? -ENOMEM : 0;
}

static void escape(const char *path, size_t len, struct buf *ret)
{
	for (size_t i = 0; i < len; i++)
		if (path[i] && is_unreserved((unsigned char)path[i]))
			buf_add_char(ret, path[i]);
		else
			buf_printf(ret, "%%%02X", (unsigned char)path[i]);
}

/* The path as targets write it: read in full, everything that means something escaped, no slash at
 * its end. NULL when no path but every path is meant, or what it means cannot be told. */
static const char *target_path(
	struct import *im, const struct yaml_node *entry, const char *path, size_t len)
{
	_cleanup_(buf_done)
	struct buf raw, text;
	char full[URL_MAX_PATH_BYTES];

	buf_init(&raw);
	buf_init(&text);
	if (escape_blanks(path, len, &raw) < 0 ||
		url_read_path(raw.data, raw.len, URL_FULL, full, &len) < 0) {
		import_note(im, entry->line, true,
			"origins differ on what the path means: the whole host is denied");
		return NULL;
	}
	while (len && full[len - 1] == '/')
		len--;
	if (!len)
		return NULL;
	escape(full, len, &text);
	if (text.is_failed)
		return NULL;
	return arena_copy(&im->arena, text.data, text.len);
}

struct blocked_url {
	struct import_host host;
	const char *path; /* as targets write it, NULL for every path */
};

static const char not_url_mend[] = "write it like https://paper.example/abs/2401.12345";

static bool read_url(struct import *im, const struct yaml_node *entry, struct blocked_url *ret)
{
	const char *text = entry->text, *query;
	struct url u;

	if (!memmem(text, entry->len, "://", 3))
		text = import_printf(im, "https://%s", entry->text);
	if (url_split(text, strlen(text), &u) < 0) {
		import_fail(im, entry, not_url_mend, "`%.64s` is no URL", entry->text);
		return false;
	}
	if (u.authority_len > 4 && !strncasecmp(u.authority, "www.", 4)) {
		u.authority += 4;
		u.authority_len -= 4;
	}
	if (!import_host(im, entry, u.authority, u.authority_len, &ret->host))
		return false;
	if (ret->host.kind != IMPORT_HOST_NAME && ret->host.kind != IMPORT_HOST_ADDR) {
		import_fail(im, entry, not_url_mend, "`%.64s` is no URL of one host", entry->text);
		return false;
	}
	query = memchr(u.path, '?', u.path_len);
	if (query || memchr(text, '#', strlen(text)) || memchr(text, '?', strlen(text)))
		import_note(im, entry->line, false,
			"query and fragment are not looked at: the page is denied with any");
	if (ret->host.port)
		import_note(im, entry->line, false, "denied on every port");
	ret->path = target_path(im, entry, u.path, query ? (size_t)(query - u.path) : u.path_len);
	return true;
}

static void block_url(struct import *im, const struct yaml_node *entry)
{
	struct import_rule *rule;
	struct blocked_url url;

	if (entry->kind != YAML_SCALAR || !entry->len) {
		import_fail(im, entry, not_url_mend, "an entry of blocked_urls must be a URL");
		return;
	}
	if (!read_url(im, entry, &url))
		return;
	rule = import_rule(im, true, "blocked_urls", entry);
	/* `*` within the last segment and whatever is below: every path that begins so. */
	if (url.path) {
		if (rule)
			rule->ignores_case = true;
		import_target(
			im, rule, entry, import_printf(im, "%s:*%s*", url.host.name, url.path));
		if (url.host.kind == IMPORT_HOST_NAME)
			import_target(im, rule, entry,
				import_printf(im, "www.%s:*%s*", url.host.name, url.path));
		return;
	}
	import_target(im, rule, entry, url.host.name);
	if (url.host.kind == IMPORT_HOST_NAME)
		import_target(im, rule, entry, import_printf(im, "www.%s", url.host.name));
}

/* --- the whole */

/* Is what this map allows meant for this mode? The agent's mode has the agent's hosts, the
 * sandbox's mode those of the sandbox; denials hold wherever they stand. */
static bool counts(const struct task *t, size_t map, const char *key)
{
	return strcmp(key, "allowed_hosts") != 0 || (map == 0) == t->is_agents;
}

static void read_list(struct import *im, const struct task *t, const char *key,
	void (*read)(struct import *im, const struct yaml_node *entry))
{
	for (size_t i = 0; i < sizeof(t->maps) / sizeof(t->maps[0]); i++) {
		const struct yaml_node *list = import_list(im, t->maps[i], key);

		if (list && list->n && !counts(t, i, key)) {
			import_note(im, list->key->line, true,
				"these allowed_hosts belong to no network_mode, and stay closed");
			continue;
		}

		for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next)
			read(im, e);
	}
}

static const struct yaml_node *find_list(const struct task *t, const char *key)
{
	for (size_t i = 0; i < sizeof(t->maps) / sizeof(t->maps[0]); i++) {
		const struct yaml_node *list = import_peek(t->maps[i], key);

		if (list && list->n)
			return list;
	}
	return NULL;
}

static enum mode read_mode(struct import *im, const struct yaml_node *map, struct task *t)
{
	const struct yaml_node *v = import_scalar(im, map, "network_mode");

	if (!v)
		return MODE_NONE;
	t->mode_line = v->line;
	for (int i = MODE_PUBLIC; i <= MODE_DENYLIST; i++)
		if (!strcmp(mode_words[i], v->text))
			return (enum mode)i;
	import_fail(im, v, "write public, no-network, allowlist or denylist",
		"`%.64s` is no value of network_mode", v->text);
	return MODE_NO_NETWORK;
}

static void find_mode(struct import *im, struct task *t)
{
	enum mode own;

	t->mode = read_mode(im, t->maps[1], t);
	if (t->mode == MODE_NONE)
		t->mode = read_mode(im, t->maps[2], t);
	if (t->mode == MODE_NONE) {
		const struct yaml_node *v = import_key(im, t->maps[1], "allow_internet");

		if (v && v->kind == YAML_SCALAR && !v->is_null)
			t->mode = import_flag(im, t->maps[1], "allow_internet") ? MODE_PUBLIC
										: MODE_NO_NETWORK;
	}
	own = read_mode(im, t->maps[0], t);
	if (own == MODE_PUBLIC && t->mode != MODE_NONE && t->mode != MODE_PUBLIC) {
		import_note(im, t->mode_line, true,
			"the agent's `public` does not lift the sandbox's `%s`",
			mode_words[t->mode]);
	} else if (own != MODE_NONE) {
		t->mode = own;
		t->is_agents = true;
	}
}

static void note_unused(struct import *im, const struct task *t, const char *key, const char *why)
{
	const struct yaml_node *list = find_list(t, key);

	if (list)
		import_note(im, list->line, false, "%s %s", key, why);
}

/* No network_mode: what an Agentfile allows, and nothing else. */
static void settle_mode(struct import *im, struct task *t)
{
	const struct yaml_node *blocked = find_list(t, "blocked_urls");

	if (!blocked)
		blocked = find_list(t, "blocked_hosts");
	if (t->mode != MODE_NONE)
		return;
	t->mode = MODE_ALLOWLIST;
	if (blocked)
		import_fail(im, blocked, "add `network_mode: denylist`",
			"`%s` without a network_mode", blocked->key->text);
	else if (!find_list(t, "allowed_hosts"))
		import_note(im, 1, false, "neither a network_mode nor an allowed host: no network");
}

/* `network` holds nothing else; the other maps hold much that has nothing to do with it. */
static void read_unknown(struct import *im, const struct task *t)
{
	static const char *const known[] = {
		"network_mode", "allowed_hosts", "blocked_urls", "blocked_hosts"};
	const size_t n_known = sizeof(known) / sizeof(known[0]);

	import_check_denials(im, t->maps[0], known, n_known);
	import_check_denials(im, t->maps[1], known, n_known);
	for (const struct yaml_node *v = t->maps[2] ? t->maps[2]->first : NULL; v; v = v->next) {
		bool is_known = false;

		for (size_t i = 0; i < n_known; i++)
			is_known = is_known || !strcmp(v->key->text, known[i]);
		if (!is_known)
			import_unknown_key(im, v->key);
	}
}

static const struct yaml_node *map_of(
	struct import *im, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = map ? import_key(im, map, key) : NULL;

	if (!v || v->is_null)
		return NULL;
	if (v->kind == YAML_MAP)
		return v;
	import_fail(im, v, "write `key: value` lines", "`%s` must be a map", key);
	return NULL;
}

void import_read_task(struct import *im, const struct yaml_node *root)
{
	struct task t = {0};

	t.maps[0] = import_peek(root, "agent"); /* of many shapes elsewhere */
	if (t.maps[0] && t.maps[0]->kind != YAML_MAP)
		t.maps[0] = NULL;
	t.maps[1] = map_of(im, root, import_peek(root, "sandbox") ? "sandbox" : "environment");
	t.maps[2] = map_of(im, t.maps[1], "network");
	read_unknown(im, &t);
	find_mode(im, &t);
	settle_mode(im, &t);
	im->is_default_allow = t.mode == MODE_PUBLIC || t.mode == MODE_DENYLIST;
	if (t.mode == MODE_NO_NETWORK) {
		note_unused(im, &t, "allowed_hosts", "opens nothing: network_mode is no-network");
		return;
	}
	read_list(im, &t, "blocked_hosts", block_host);
	read_list(im, &t, "blocked_urls", block_url);
	if (t.mode == MODE_ALLOWLIST)
		read_list(im, &t, "allowed_hosts", allow_host);
	else
		note_unused(im, &t, "allowed_hosts", "adds nothing: every name is allowed already");
}
