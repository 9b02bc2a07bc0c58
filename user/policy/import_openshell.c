/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenShell's `network_policies`: rules of endpoints (host, ports, protocol, access or rules) and
 * binaries. What depends on the program that connects, or on bodies, cannot be said here.
 */
#include "import_formats.h"

#include <string.h>

#include "../base/cleanup.h"
#include "../base/num.h"

#define MAX_HOST_PORTS 64

struct endpoint_reading {
	const struct yaml_node *node, *entry; /* the map; its host, for places */
	const char *host;
	const char *hosts[MAX_HOST_PORTS]; /* host:port */
	size_t n_hosts;
	struct buf *requests;
};

/* --- methods */

static const struct {
	const char *word, *methods;
} presets[] = {
	{"read-only", "GET,HEAD,OPTIONS"},
	{"read-write", "GET,HEAD,OPTIONS,POST,PUT,PATCH"},
	{"full", NULL},
};

static void add(struct import *im, const struct endpoint_reading *e, bool is_deny,
	const struct yaml_node *entry, const char *key, const char *methods, const char *path)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		struct import_request request = {
			.entry = entry,
			.key = key,
			.methods = methods,
			.host = e->hosts[i],
			.path = path,
			.is_own = true,
		};

		import_add_request(im, e->requests, is_deny, &request);
	}
}

static void read_access(
	struct import *im, const struct endpoint_reading *e, const struct yaml_node *access)
{
	const struct yaml_node *path = import_scalar(im, e->node, "path");

	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		if (strcmp(presets[i].word, access->text) != 0)
			continue;
		add(im, e, false, access, "access", presets[i].methods, path ? path->text : NULL);
		return;
	}
	import_fail(im, access, "write read-only, read-write or full",
		"`%.64s` is no value of access", access->text);
}

/* One matcher of `rules` or `deny_rules`. */
static void read_matcher(struct import *im, const struct endpoint_reading *e, bool is_deny,
	const struct yaml_node *matcher)
{
	static const char *const known[] = {"method", "path", "query"};
	const struct yaml_node *method, *path, *query;

	if (!matcher || matcher->kind != YAML_MAP) {
		import_fail(im, e->entry, "write - allow: {method: GET, path: /x}",
			"a rule of `%.64s` is no map", e->host);
		return;
	}
	method = import_scalar(im, matcher, "method");
	path = import_scalar(im, matcher, "path");
	query = import_peek(matcher, "query");
	for (const struct yaml_node *v = matcher->first; v; v = v->next) {
		bool is_known = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			is_known = is_known || !strcmp(known[i], v->key->text);
		if (is_known)
			continue;
		import_note(im, v->key->line, true, "`%s` cannot be looked at here: %s",
			v->key->text, is_deny ? "all of it is denied" : "the rule stays closed");
		if (!is_deny)
			return;
	}
	if (query && !query->is_null && query->n) {
		import_note(im, query->key->line, true, "queries are not looked at: %s",
			is_deny ? "the path is denied with any" : "the rule stays closed");
		if (!is_deny)
			return;
	}
	if (!is_deny && (!method || !path))
		import_fail(
			im, matcher, "write method: and path:", "a rule without method or path");
	else
		add(im, e, is_deny, path ? path : matcher, is_deny ? "deny_rules" : "rules",
			method && strcmp(method->text, "*") != 0 ? method->text : NULL,
			path ? path->text : NULL);
}

static void read_rules(struct import *im, const struct endpoint_reading *e)
{
	const struct yaml_node *rules = import_list(im, e->node, "rules");
	const struct yaml_node *denials = import_list(im, e->node, "deny_rules");
	const struct yaml_node *path = import_scalar(im, e->node, "path");

	for (const struct yaml_node *r = denials ? denials->first : NULL; r; r = r->next)
		read_matcher(im, e, true, r);
	if (rules && path && strcmp(path->text, "/**") != 0 && strcmp(path->text, "**") != 0) {
		import_note(im, path->line, true,
			"`path` and `rules` together cannot be said: the rules stay closed");
		return;
	}
	for (const struct yaml_node *r = rules ? rules->first : NULL; r; r = r->next)
		read_matcher(im, e, false, import_peek(r, "allow"));
}

/* --- protocols */

static void close_endpoint(const struct endpoint_reading *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		struct import_request request = {
			.entry = e->entry, .key = "host", .host = e->hosts[i], .is_own = true};

		import_close_host(e->requests, &request);
	}
}

static void read_rest(struct import *im, const struct endpoint_reading *e)
{
	const struct yaml_node *access = import_scalar(im, e->node, "access");
	const struct yaml_node *enforcement = import_scalar(im, e->node, "enforcement");

	if (!enforcement || strcmp(enforcement->text, "enforce") != 0)
		import_note(im, e->entry->line, false,
			"`%s`: `audit` lets everything through there; here its rules are enforced",
			e->host);
	close_endpoint(e);
	read_rules(im, e);
	if (access)
		read_access(im, e, access);
}

/* Messages are not looked at, so only where every message may pass. */
static void read_opaque(struct import *im, const struct endpoint_reading *e, const char *protocol)
{
	const struct yaml_node *access = import_scalar(im, e->node, "access");
	const struct yaml_node *path = import_scalar(im, e->node, "path");
	const struct yaml_node *denials = import_list(im, e->node, "deny_rules");

	if (access && !strcmp(access->text, "full") && (!denials || !denials->n)) {
		add(im, e, false, access, "access", NULL, path ? path->text : NULL);
		return;
	}
	close_endpoint(e);
	import_note(im, e->entry->line, true, "`%s`: what %s carries is not told apart%s", e->host,
		protocol,
		strcmp(protocol, "mcp")
			? ", so it stays closed"
			: "; it stays closed, write a rule with `mcp: {tools: [...]}`");
}

static void read_protocol(struct import *im, const struct endpoint_reading *e)
{
	const struct yaml_node *protocol = import_scalar(im, e->node, "protocol");
	static const char *const opaque[] = {"websocket", "graphql", "mcp", "json-rpc"};

	if (!protocol || !strcmp(protocol->text, "tcp")) {
		add(im, e, false, e->entry, "host", NULL, NULL);
		return;
	}
	if (!strcmp(protocol->text, "rest")) {
		read_rest(im, e);
		return;
	}
	for (size_t i = 0; i < sizeof(opaque) / sizeof(opaque[0]); i++)
		if (!strcmp(opaque[i], protocol->text)) {
			read_opaque(im, e, opaque[i]);
			return;
		}
	import_fail(im, protocol, "write rest, websocket, graphql, mcp, json-rpc or tcp",
		"unknown protocol `%.64s`", protocol->text);
}

/* --- where to */

static void add_port(struct import *im, struct endpoint_reading *e, const struct yaml_node *port)
{
	uint16_t number;

	if (port->kind != YAML_SCALAR || num_parse_port(port->text, port->len, &number) < 0) {
		import_fail(im, port, "a port is 1 to 65535", "`%.32s` is no port",
			port->kind == YAML_SCALAR ? port->text : "?");
		return;
	}
	if (e->n_hosts == MAX_HOST_PORTS) {
		import_fail(im, port, NULL, "more than %d ports", MAX_HOST_PORTS);
		return;
	}
	e->hosts[e->n_hosts++] = import_printf(im, "%s:%u", e->host, (unsigned int)number);
}

static void read_ports(struct import *im, struct endpoint_reading *e)
{
	const struct yaml_node *port = import_scalar(im, e->node, "port");
	const struct yaml_node *ports = import_list(im, e->node, "ports");

	if (port)
		add_port(im, e, port);
	for (const struct yaml_node *p = ports ? ports->first : NULL; p; p = p->next)
		add_port(im, e, p);
	if (!e->n_hosts)
		import_fail(im, e->node, "add port: 443", "an endpoint without a port");
}

/* `*.` is one label there, `**.` any number, and other stars cannot be said. */
static bool read_host(struct import *im, struct endpoint_reading *e)
{
	const char *text = e->entry->text, *prefix = "";
	struct import_host host;
	size_t len = e->entry->len;

	if (!strncmp(text, "**.", 3)) {
		text++;
		len--;
	} else if (!strncmp(text, "*.", 2)) {
		import_note(im, e->entry->line, true,
			"`%s` is one label there, and names at any depth here", text);
	}
	if (import_has_odd_star(text)) {
		import_note(im, e->entry->line, true,
			"`%s`: a star can only stand for whole names here, so it stays closed",
			e->entry->text);
		return false;
	}
	if (!import_host(im, e->entry, text, len, &host))
		return false;
	if (host.port || host.kind == IMPORT_HOST_DOT || host.kind == IMPORT_HOST_EVERY) {
		import_fail(im, e->entry, "write a name, and its port under `port`",
			"`%.64s` is no host of an endpoint", e->entry->text);
		return false;
	}
	if (host.is_local) {
		import_note(im, e->entry->line, true,
			"`%s`: the host's loopback stays closed; open its ports with `host_ports`",
			e->entry->text);
		return false;
	}
	if (host.kind == IMPORT_HOST_ADDR)
		import_open_range(im, e->entry->line, host.name);
	if (host.kind == IMPORT_HOST_STAR)
		prefix = "*.";
	e->host = import_printf(im, "%s%s", prefix, host.name);
	return true;
}

static void note_keys(struct import *im, const struct endpoint_reading *e)
{
	static const char *const read[] = {"host", "port", "ports", "path", "protocol", "tls",
		"enforcement", "access", "rules", "deny_rules", "allow_encoded_slash",
		"allowed_ips"};

	for (const struct yaml_node *v = e->node->first; v; v = v->next) {
		bool is_read = false;

		for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
			is_read = is_read || !strcmp(read[i], v->key->text);
		if (!is_read)
			import_unknown_key(im, v->key);
	}
}

static void read_allowed_ips(struct import *im, const struct yaml_node *endpoint)
{
	const struct yaml_node *list = import_list(im, endpoint, "allowed_ips");

	for (const struct yaml_node *ip = list ? list->first : NULL; ip; ip = ip->next) {
		struct import_host host;

		if (ip->kind != YAML_SCALAR || !import_host(im, ip, ip->text, ip->len, &host))
			continue;
		if (host.kind != IMPORT_HOST_ADDR) {
			import_fail(im, ip, "write 10.0.0.0/8", "`%.64s` is no address", ip->text);
			continue;
		}
		import_note(im, ip->line, true, "the addresses of one name are not told apart: %s",
			"global ones are open, and private ones for every name or none");
		import_open_range(im, ip->line, host.name);
	}
}

static void read_endpoint(struct import *im, const struct yaml_node *node, struct buf *requests)
{
	struct endpoint_reading e = {.node = node, .requests = requests};

	if (node->kind != YAML_MAP) {
		import_fail(im, node, "write - host: api.example.com", "an endpoint must be a map");
		return;
	}
	e.entry = import_scalar(im, node, "host");
	if (!e.entry) {
		import_note(im, node->line, true,
			"an endpoint without a host cannot be said, and stays closed");
		return;
	}
	note_keys(im, &e);
	if (!read_host(im, &e))
		return;
	read_ports(im, &e);
	read_allowed_ips(im, node);
	if (e.n_hosts)
		read_protocol(im, &e);
}

static void read_policy(struct import *im, const struct yaml_node *policy, struct buf *requests)
{
	const struct yaml_node *endpoints, *binaries;

	if (policy->kind != YAML_MAP) {
		import_fail(im, policy, "write endpoints: and binaries:", "`%.64s` must be a map",
			policy->key->text);
		return;
	}
	endpoints = import_list(im, policy, "endpoints");
	binaries = import_list(im, policy, "binaries");
	if (!binaries || !binaries->n) {
		import_note(im, policy->key->line, false,
			"`%s` names no binaries, so nothing is open by it", policy->key->text);
		return;
	}
	import_note(im, binaries->key->line, true,
		"programs are not told apart: `%s` is open to every program of the sandbox",
		policy->key->text);
	for (const struct yaml_node *e = endpoints ? endpoints->first : NULL; e; e = e->next)
		read_endpoint(im, e, requests);
}

void import_read_openshell(struct import *im, const struct yaml_node *root)
{
	const struct yaml_node *policies = import_key(im, root, "network_policies");
	const struct yaml_node *middlewares = import_peek(root, "network_middlewares");
	_cleanup_(buf_done)
	struct buf requests;

	buf_init(&requests);
	if (middlewares && !middlewares->is_null)
		import_note(im, middlewares->key->line, true, "network_middlewares are not read");
	if (policies && policies->kind != YAML_MAP && !policies->is_null)
		import_fail(im, policies, NULL, "network_policies must be a map");
	else
		for (const struct yaml_node *p = policies ? policies->first : NULL; p; p = p->next)
			read_policy(im, p, &requests);
	import_put_requests(im, &requests);
}
