/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings of sandbox-runtime (`network`) and of Claude Code (`sandbox.network`, which means the
 * same, and `permissions` with WebFetch). Denied entries win over allowed ones there, so they come
 * first. An entry without a port is meant for every port.
 */
#include "import_formats.h"

#include <string.h>

static void add_entry(struct import *im, bool is_deny, const char *key,
	const struct yaml_node *entry, const char *text, size_t len)
{
	struct import_host host;
	struct import_rule *rule;
	const char *port;

	if (!import_host(im, entry, text, len, &host))
		return;
	if (host.kind == IMPORT_HOST_EVERY && !is_deny && !strcmp(key, "allow")) {
		import_note(
			im, entry->line, true, "`%s` names no host and opens none", entry->text);
		return;
	}
	if (host.kind == IMPORT_HOST_DOT || (host.kind == IMPORT_HOST_EVERY && !is_deny)) {
		import_fail(im, entry, "write a name, or *.name for every name below it",
			"`%.64s` is no entry of %s", entry->text, key);
		return;
	}
	if (host.is_local && !is_deny) {
		import_note(im, entry->line, true,
			"`%s`: the host's loopback stays closed; open its ports with `host_ports`",
			entry->text);
		return;
	}
	if (host.kind == IMPORT_HOST_ADDR && !is_deny)
		import_open_range(im, entry->line, host.name);
	if (host.kind == IMPORT_HOST_ADDR && is_deny)
		import_note(im, entry->line, true,
			"`%s` is denied as an address; an allowed name that resolves to it is not",
			host.name);
	port = host.port ? import_printf(im, ":%u", (unsigned int)host.port) : is_deny ? "" : ":*";
	rule = import_rule(im, is_deny, key, entry);
	import_target(im, rule, entry,
		import_printf(
			im, "%s%s%s", host.kind == IMPORT_HOST_STAR ? "*." : "", host.name, port));
}

static void read_domains(
	struct import *im, const struct yaml_node *network, bool is_deny, const char *key)
{
	const struct yaml_node *list = import_list(im, network, key);

	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next) {
		if (e->kind == YAML_SCALAR && e->len)
			add_entry(im, is_deny, key, e, e->text, e->len);
		else
			import_fail(im, e, NULL, "an entry of %s must be a name", key);
	}
}

/* --- permissions: WebFetch(domain:NAME) */

static const char fetch[] = "WebFetch(domain:";

static void read_permission(
	struct import *im, bool is_deny, const char *key, const struct yaml_node *e)
{
	const char *from = e->text + strlen(fetch);

	if (e->kind != YAML_SCALAR || strncmp(e->text, "WebFetch", 8) != 0)
		return;
	if (!strcmp(e->text, "WebFetch") || !strcmp(e->text, "WebFetch(*)")) {
		if (is_deny)
			import_note(im, e->line, false,
				"`%s` is the tool's own matter: the sandbox's rules stay", e->text);
		else
			import_note(
				im, e->line, true, "`%s` names no host and opens none", e->text);
		return;
	}
	if (strncmp(e->text, fetch, strlen(fetch)) != 0 || e->text[e->len - 1] != ')') {
		import_fail(im, e, "write WebFetch(domain:api.example.com)",
			"`%.64s` is not understood", e->text);
		return;
	}
	add_entry(im, is_deny, key, e, from, e->len - strlen(fetch) - 1);
}

static void read_permissions(
	struct import *im, const struct yaml_node *permissions, bool is_deny, const char *key)
{
	const struct yaml_node *list = import_list(im, permissions, key);

	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next)
		read_permission(im, is_deny, key, e);
}

/* What has to be asked for is not open. */
static void note_questions(struct import *im, const struct yaml_node *permissions)
{
	const struct yaml_node *list = import_list(im, permissions, "ask");

	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next)
		if (e->kind == YAML_SCALAR && !strncmp(e->text, "WebFetch", 8))
			import_note(im, e->line, true, "`%s`: nobody can be asked, so it is denied",
				e->text);
}

/* --- the other keys */

static const struct key_note {
	const char *key;
	bool is_lost;
	const char *text;
} key_notes[] = {
	{"allowAllUnixSockets", true,
		"sockets outside the sandbox stay closed: name them in `unix`"},
	{"allowLocalBinding", false,
		"programs may listen on the sandbox's own loopback, which is nobody else's"},
	{"httpProxyPort", true, "is not used: nej brings its own proxy"},
	{"socksProxyPort", true, "is not used: nej brings its own proxy"},
	{"mitmProxy", true, "is not used: see `upstream` for forward proxies"},
	{"parentProxy", true, "is not used: see `upstream` for forward proxies"},
	{"tlsTerminate", true, "is not used: `inspect: true` opens TLS"},
	{"deniedDomainReasons", false, "is not used: a rule's `note` is shown with a refusal"},
	{"allowMachLookup", true, "has no meaning on Linux"},
	{"strictAllowlist", false, "holds always: what no rule names is denied"},
	{"allowManagedDomainsOnly", false, "other settings files are not looked at"},
};

static bool is_false(const struct yaml_node *v)
{
	return v->kind == YAML_SCALAR && !strcmp(v->text, "false");
}

static void note_key(struct import *im, const struct yaml_node *v)
{
	for (size_t i = 0; i < sizeof(key_notes) / sizeof(key_notes[0]); i++) {
		if (strcmp(key_notes[i].key, v->key->text) != 0)
			continue;
		if (!v->is_null && !is_false(v))
			import_note(im, v->key->line, key_notes[i].is_lost, "`%s` %s", v->key->text,
				key_notes[i].text);
		return;
	}
	import_unknown_key(im, v->key);
}

static void note_unix_sockets(struct import *im, const struct yaml_node *network)
{
	const struct yaml_node *list = import_list(im, network, "allowUnixSockets");

	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next)
		import_note(im, e->line, true,
			"the unix socket `%s` stays closed: add it under `unix` if it is wanted",
			e->kind == YAML_SCALAR ? e->text : "?");
}

static void read_denied_addresses(struct import *im, const struct yaml_node *network)
{
	const struct yaml_node *list = import_list(im, network, "deniedResolvedAddresses");

	for (const struct yaml_node *e = list ? list->first : NULL; e; e = e->next) {
		if (e->kind == YAML_SCALAR && e->len)
			add_entry(im, true, "deniedResolvedAddresses", e, e->text, e->len);
	}
}

static void read_network(struct import *im, const struct yaml_node *network)
{
	static const char *const read[] = {
		"allowedDomains", "deniedDomains", "allowUnixSockets", "deniedResolvedAddresses"};

	read_denied_addresses(im, network);
	note_unix_sockets(im, network);
	for (const struct yaml_node *v = network->first; v; v = v->next) {
		bool is_read = false;

		for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
			is_read = is_read || !strcmp(read[i], v->key->text);
		if (!is_read)
			note_key(im, v);
	}
}

/* Claude Code's, beside `network`. */
static void note_sandbox(struct import *im, const struct yaml_node *sandbox)
{
	static const struct {
		const char *key, *text;
	} others[] = {
		{"enabled", "is not looked at: what is imported is enforced"},
		{"excludedCommands", "is not looked at: every program is in the sandbox"},
		{"allowUnsandboxedCommands", "is not looked at: every program is in the sandbox"},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct yaml_node *v = import_key(im, sandbox, others[i].key);

		if (v)
			import_note(
				im, v->key->line, false, "`%s` %s", others[i].key, others[i].text);
	}
}

void import_read_settings(struct import *im, const struct yaml_node *root)
{
	const struct yaml_node *sandbox = root, *network, *permissions = NULL;

	if (im->format == IMPORT_CLAUDE) {
		sandbox = import_key(im, root, "sandbox");
		permissions = import_key(im, root, "permissions");
	}
	if (sandbox && sandbox != root) {
		note_sandbox(im, sandbox);
		import_check_denials(im, sandbox, NULL, 0);
	}
	network = sandbox ? import_key(im, sandbox, "network") : NULL;
	if (network && network->kind == YAML_MAP)
		read_network(im, network);
	else if (network && !network->is_null)
		import_fail(im, network, NULL, "`network` must be a map");
	read_domains(im, network, true, "deniedDomains");
	read_permissions(im, permissions, true, "deny");
	note_questions(im, permissions);
	read_domains(im, network, false, "allowedDomains");
	read_permissions(im, permissions, false, "allow");
}
