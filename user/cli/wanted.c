/* SPDX-License-Identifier: GPL-2.0-only */
/* From refused attempts to policy targets; see wanted.h. Joining them is wanted_join.c's. */
#include "wanted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/reason.h"
#include "../audit/event.h"
#include "../base/cleanup.h"
#include "../base/htab.h"

#define MAX_NAMES 65536 /* addresses whose names are remembered */

/* A thing wanted under its key, or the name of an address. */
struct entry {
	struct htab_node node;
	struct wanted *item; /* borrowed */
	char *name;          /* owned */
	char key[];
};

struct wanted_index {
	struct htab items, names;
};

/* Reasons no rule would change; the rest have code below. */
static const struct {
	enum nej_reason reason;
	const char *why;
} hopeless[] = {
	{NEJ_REASON_RULE, "a deny rule forbids it: an allow would have to stand before that rule"},
	{NEJ_REASON_PRIVATE_ADDRESS,
		"it leads to a special address: `private:` or `host_ports:` decide that, not "
		"rules"},
	{NEJ_REASON_HOST_MISMATCH, "its names contradict each other: no rule opens that"},
	{NEJ_REASON_MALFORMED_HOST, "it is no valid host: no rule opens that"},
	{NEJ_REASON_ECH, "its ClientHello is encrypted: no rule opens that"},
	{NEJ_REASON_FRAMING, "its request can be read in two ways: no rule opens that"},
	{NEJ_REASON_UDP,
		"UDP passes only to addresses of a udp:// rule with `transport: kernel`; "
		"programs that try QUIC fall back to TCP"},
	{NEJ_REASON_SOCKET_TYPE, "only TCP and UDP sockets can be made: no rule opens others"},
	{NEJ_REASON_FAMILY, "only IPv4 and IPv6 sockets can be made: no rule opens others"},
	{NEJ_REASON_LOOPBACK, "it is a loopback address outside: `host_ports:` decides that"},
	{NEJ_REASON_MULTICAST, "multicast and broadcast: no rule opens them"},
	{NEJ_REASON_PLACEHOLDER_LEAK,
		"a credential's placeholder was on its way there: `secrets:` decides that"},
	{NEJ_REASON_LIMIT, "a limit was reached: `limits:` decides that"},
	{NEJ_REASON_HALTED, "the sandbox was halted"},
	{NEJ_REASON_INSPECT_UNAVAILABLE,
		"its rule looks inside TLS, which the client did not let happen"},
	{NEJ_REASON_AUDIT_UNAVAILABLE, "the audit log could not be written"},
	{NEJ_REASON_INTERNAL, "nej met an error of its own"},
};

int wanted_init(struct wanted_list *l)
{
	memset(l, 0, sizeof(*l));
	l->index = calloc(1, sizeof(*l->index));
	if (!l->index)
		return -ENOMEM;
	htab_init(&l->index->items);
	htab_init(&l->index->names);
	return 0;
}

static void free_entries(struct htab *t)
{
	struct htab_node *n, *tmp;

	htab_for_each (t, n, tmp) {
		struct entry *e = CONTAINER_OF(n, struct entry, node);

		free(e->name);
		free(e);
	}
	htab_done(t);
}

void wanted_done(struct wanted_list *l)
{
	if (l->index) {
		free_entries(&l->index->items);
		free_entries(&l->index->names);
	}
	free(l->index);
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	free(l->items);
	memset(l, 0, sizeof(*l));
}

static struct entry *find(const struct htab *t, const char *key)
{
	for (struct htab_node *n = htab_find(t, hash_bytes(key, strlen(key))); n;
		n = htab_next(n)) {
		struct entry *e = CONTAINER_OF(n, struct entry, node);

		if (strcmp(e->key, key) == 0)
			return e;
	}
	return NULL;
}

static struct entry *add_entry(struct htab *t, const char *key)
{
	size_t len = strlen(key);
	struct entry *e = calloc(1, sizeof(*e) + len + 1);

	if (!e)
		return NULL;
	memcpy(e->key, key, len);
	if (htab_add(t, &e->node, hash_bytes(key, len)) < 0) {
		free(e);
		return NULL;
	}
	return e;
}

static struct wanted *append(struct wanted_list *l, const struct wanted *w)
{
	struct wanted *item;

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct wanted **items = realloc(l->items, cap * sizeof(*items));

		if (!items)
			return NULL;
		l->items = items;
		l->cap = cap;
	}
	item = malloc(sizeof(*item));
	if (!item)
		return NULL;
	*item = *w;
	l->items[l->n++] = item;
	return item;
}

/* Adds to what is there, or as something new. */
static int want(struct wanted_list *l, const struct wanted *w, uint64_t count)
{
	char key[HOST_MAX_BYTES + WANTED_METHODS_BYTES + WANTED_PATH_BYTES + WANTED_NOTE_BYTES +
		64];
	struct entry *e;

	snprintf(key, sizeof(key), "%u%u|%s|%s|%u|%s|%s|%s", w->kind, w->is_by_name, w->scheme,
		w->host, w->port, w->methods, w->path, w->note);
	e = find(&l->index->items, key);
	if (!e) {
		if (l->n >= WANTED_MAX) {
			l->n_others += count;
			return 0;
		}
		e = add_entry(&l->index->items, key);
		if (!e)
			return -ENOMEM;
		e->item = append(l, w);
		if (!e->item)
			return -ENOMEM;
	}
	e->item->count += count;
	return 0;
}

static int want_note(struct wanted_list *l, const struct audit_record *r, const char *why)
{
	const char *target = r->host ? r->host : r->addr ? r->addr : r->detail;
	struct wanted w = {.kind = WANTED_NOTE, .scheme = ""};
	char port[16] = "";

	if (r->port)
		snprintf(port, sizeof(port), ":%u", r->port);
	snprintf(w.note, sizeof(w.note), "%.128s%s (%.24s): %.160s",
		target             ? target
			: r->proto ? r->proto
				   : "?",
		port, r->reason ? r->reason : "?", why);
	return want(l, &w, r->count);
}

/* Remembers which name an address stands for: the kernel knows addresses only. */
static int learn_name(struct wanted_list *l, const struct audit_record *r)
{
	struct host host;
	struct entry *e;

	if (!r->addr || !r->host || l->index->names.n_nodes >= MAX_NAMES ||
		host_parse(r->host, strlen(r->host), &host) < 0 || host.kind != HOST_NAME ||
		find(&l->index->names, r->addr))
		return 0;
	e = add_entry(&l->index->names, r->addr);
	if (!e)
		return -ENOMEM;
	e->name = strdup(host.name);
	return e->name ? 0 : -ENOMEM;
}

/* An address is only ever suggested when it is one of the open internet. */
static int want_addr(struct wanted_list *l, const struct audit_record *r, const struct addr *addr)
{
	struct wanted w = {.kind = WANTED_ADDR, .scheme = ""};
	char text[ADDR_TEXT_BYTES];
	struct addr plain;

	if (addr_classify(addr, &plain) != NEJ_RANGE_GLOBAL)
		return want_note(
			l, r, "it is a special address, or stands for a name unknown here");
	addr_print(&plain, text);
	snprintf(w.host, sizeof(w.host), addr_is_v4(&plain) ? "%s" : "[%s]", text);
	w.port = r->port == 443 || r->port == 80 ? 0 : (uint16_t)r->port;
	return want(l, &w, r->count);
}

/* A path as a pattern that matches it: without what could be read as something else. */
static void take_path(const char *url, char out[WANTED_PATH_BYTES])
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~@+=/";
	const char *path = strstr(url, "://");
	size_t len, whole;

	path = path ? strchr(path + 3, '/') : url;
	if (!path || *path != '/') {
		memcpy(out, "/", 2);
		return;
	}
	whole = strcspn(path, "?#");
	len = strspn(path, plain);
	if (len > WANTED_PATH_BYTES - 1)
		len = WANTED_PATH_BYTES - 1;
	if (len < whole) {
		/* Up to the last whole segment; the rule covers what is below it. */
		while (len > 1 && path[len - 1] != '/')
			len--;
	} else {
		len = whole;
	}
	memcpy(out, path, len);
	out[len] = 0;
	if (strstr(out, "//") || strstr(out, "/."))
		memcpy(out, "/", 2);
	len = strlen(out);
	if (len > 1 && out[len - 1] == '/' && len < whole)
		out[len - 1] = 0;
}

static bool is_method(const char *s)
{
	size_t len = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

	return len && !s[len] && len < 24 && strcmp(s, "CONNECT") != 0;
}

/* Scheme and port of a target: as the policy language would have them, shortest form. */
static void take_port(struct wanted *w, const struct audit_record *r)
{
	bool is_tls = r->app && strcmp(r->app, "tls") == 0;
	bool is_http = r->app && strcmp(r->app, "http") == 0;
	bool is_connect = r->method && strcmp(r->method, "CONNECT") == 0;

	w->port = (uint16_t)r->port;
	if (w->port == 443 || w->port == 80)
		w->port = 0;
	if (!w->port)
		return;
	if (is_tls)
		w->scheme = "https://";
	else if (is_http && !is_connect)
		w->scheme = "http://";
	else if (!is_connect)
		w->scheme = "tcp://";
}

static int want_host(struct wanted_list *l, const struct audit_record *r, const struct host *host)
{
	struct wanted w = {.kind = WANTED_HOST, .scheme = ""};
	bool is_dns = r->event && strcmp(r->event, "dns_blocked") == 0;

	memcpy(w.host, host->name, sizeof(w.host));
	if (is_dns) {
		w.is_by_name = true;
		return want(l, &w, r->count);
	}
	take_port(&w, r);
	if (!r->url || !r->method || !is_method(r->method))
		return want(l, &w, r->count);
	w.kind = WANTED_URL;
	w.scheme = strncmp(r->url, "https:", 6) == 0 || (r->app && strcmp(r->app, "tls") == 0)
		? "https://"
		: "http://";
	w.port = (uint16_t)r->port == (*(w.scheme + 4) == 's' ? 443 : 80) ? 0 : (uint16_t)r->port;
	snprintf(w.methods, sizeof(w.methods), "%s", r->method);
	take_path(r->url, w.path);
	return want(l, &w, r->count);
}

/* A raw protocol on a port that is open for TLS and HTTP only. */
static int want_tcp(struct wanted_list *l, const struct audit_record *r, const struct host *host)
{
	struct wanted w = {.kind = WANTED_HOST, .scheme = "tcp://", .port = (uint16_t)r->port};

	if (!r->port)
		return want_note(l, r, "the port is not known");
	memcpy(w.host, host->name, sizeof(w.host));
	return want(l, &w, r->count);
}

/* What a rule could allow. */
static int want_target(struct wanted_list *l, const struct audit_record *r, bool is_raw)
{
	const struct entry *known = r->host || !r->addr ? NULL : find(&l->index->names, r->addr);
	const char *name = known ? known->name : r->host;
	struct host host;
	struct addr addr;

	if (name && *name == '.')
		return want_note(l, r, "many different names under it: name those that are meant");
	if (!name) {
		if (r->addr && addr_parse(r->addr, strlen(r->addr), &addr) == 0)
			return want_addr(l, r, &addr);
		return want_note(l, r, "neither a name nor an address is known");
	}
	/* Records have IPv6 literals without brackets. */
	if (addr_parse(name, strlen(name), &addr) == 0)
		return want_addr(l, r, &addr);
	if (host_parse(name, strlen(name), &host) < 0)
		return want_note(l, r, "it is no valid host: no rule opens that");
	if (host.kind == HOST_ADDR)
		return want_addr(l, r, &host.addr);
	if (host.is_local)
		return want_note(l, r, "it is a loopback name: `host_ports:` decides that");
	return is_raw ? want_tcp(l, r, &host) : want_host(l, r, &host);
}

static bool is_reason(const struct audit_record *r, enum nej_reason reason)
{
	return r->reason && strcmp(r->reason, reason_word(reason)) == 0;
}

static int want_denied_rule(struct wanted_list *l, const struct audit_record *r)
{
	char why[160];

	if (!r->rule_line)
		return want_note(l, r, hopeless[0].why);
	snprintf(why, sizeof(why),
		"the rule in line %u denies it: an allow would have to stand before it",
		r->rule_line);
	return want_note(l, r, why);
}

void wanted_print(const struct wanted *w, char ret[static WANTED_TEXT_BYTES])
{
	char port[16] = "";

	if (w->port)
		snprintf(port, sizeof(port), ":%u", w->port);
	snprintf(ret, WANTED_TEXT_BYTES, "%s%s%s%s%s%s%s", w->methods, w->methods[0] ? " " : "",
		w->scheme, w->kind == WANTED_SITE ? "." : "", w->host, port, w->path);
}

int wanted_add(struct wanted_list *l, const struct audit_record *r)
{
	int err = learn_name(l, r);

	if (err < 0 || !r->is_denied || !r->count)
		return err;
	l->n_denied += r->count;
	if (is_reason(r, NEJ_REASON_RULE))
		return want_denied_rule(l, r);
	for (size_t i = 0; i < ARRAY_SIZE(hopeless); i++)
		if (is_reason(r, hopeless[i].reason))
			return want_note(l, r, hopeless[i].why);
	if (is_reason(r, NEJ_REASON_NO_RULE) || is_reason(r, NEJ_REASON_ADDRESS_LITERAL) ||
		is_reason(r, NEJ_REASON_NO_NAME))
		return want_target(l, r, false);
	if (is_reason(r, NEJ_REASON_UNKNOWN_PROTOCOL))
		return want_target(l, r, true);
	return want_note(l, r, "the reason is not known to this version");
}
