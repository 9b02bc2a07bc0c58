/* SPDX-License-Identifier: GPL-2.0-only */
/* Every key of a policy but `rules`, one row each at the end of this file; see parse.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/num.h"
#include "../wire/host.h"
#include "parse.h"

static void read_version(struct reading *r, const struct yaml_node *v, void *arg)
{
	(void)arg;
	if (v->kind != YAML_SCALAR || !v->is_plain || strcmp(v->text, "1") != 0)
		READ_FAIL(r, v, "write `version: 1`", "unknown version `%.32s`",
			v->kind == YAML_SCALAR ? v->text : "");
}

static void read_default(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"deny", "allow", NULL};

	(void)arg;
	r->draft->is_default_allow = read_word(r, v, "default", words) == 1;
}

static void read_dns(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {
		[POLICY_DNS_SYNTHETIC] = "synthetic",
		[POLICY_DNS_RESOLVE] = "resolve",
		[POLICY_DNS_BLACKHOLE] = "blackhole",
		NULL,
	};
	int i = read_word(r, v, "dns", words);

	(void)arg;
	if (i >= 0)
		r->draft->dns = (uint8_t)i;
}

static void read_inbound(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"loopback", "deny", NULL};

	(void)arg;
	r->draft->denies_inbound = read_word(r, v, "inbound", words) == 1;
}

static void read_private(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"deny", "allow", NULL};

	(void)arg;
	if (v->kind != YAML_LIST) {
		r->draft->private_mode = read_word(r, v, "private", words) == 1
			? DRAFT_PRIVATE_ALLOW
			: DRAFT_PRIVATE_DENY;
		return;
	}
	if (!read_is_list(r, v, "private", DRAFT_MAX_ENTRIES))
		return;
	r->draft->private_mode = DRAFT_PRIVATE_LIST;
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		struct prefix p;

		if (!read_is_text(r, e, "an entry of private"))
			continue;
		if (prefix_parse(e->text, e->len, &p) < 0)
			READ_FAIL(r, e, "write a range such as 10.1.0.0/16, its host bits zero",
				"`%.64s` is not an address range", e->text);
		else
			buf_add(&r->draft->privates, &p, sizeof(p));
	}
}

static void read_host_ports(struct reading *r, const struct yaml_node *v, void *arg)
{
	(void)arg;
	if (!read_is_list(r, v, "host_ports", 65535))
		return;
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		uint64_t port;
		uint16_t port16;

		if (!read_u64(r, e, "host_ports", 1, 65535, &port))
			continue;
		port16 = (uint16_t)port;
		buf_add(&r->draft->host_ports, &port16, sizeof(port16));
	}
}

static void read_resolver(struct reading *r, const struct yaml_node *v, void *arg)
{
	(void)arg;
	if (!read_is_list(r, v, "resolver", DRAFT_MAX_RESOLVERS))
		return;
	if (!v->n)
		READ_FAIL(r, v, "leave the key out to use the host's", "resolver is empty");
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		struct endpoint at;

		if (!read_is_text(r, e, "an entry of resolver"))
			continue;
		if (endpoint_parse(e->text, 53, &at) < 0)
			READ_FAIL(r, e,
				"write 192.0.2.53, 192.0.2.53:5353 or \"[2001:db8::53]:53\"",
				"`%.64s` is not an address", e->text);
		else
			buf_add(&r->draft->resolvers, &at, sizeof(at));
	}
}

static bool is_unix_path(const struct yaml_node *e)
{
	/* sun_path holds 108 bytes, a NUL among them (unix(7)). */
	return e->len > 1 && e->len < 108 && (e->text[0] == '/' || e->text[0] == '@');
}

static void read_unix(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"private", NULL};

	(void)arg;
	if (v->kind != YAML_LIST) {
		read_word(r, v, "unix", words);
		return;
	}
	if (!read_is_list(r, v, "unix", DRAFT_MAX_ENTRIES))
		return;
	r->draft->has_unix_list = true;
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		if (!read_is_text(r, e, "an entry of unix"))
			continue;
		if (!is_unix_path(e))
			READ_FAIL(r, e, "write a path from / on, or @ and an abstract name",
				"`%.64s` is not a unix socket", e->text);
		else
			buf_add(&r->draft->unix_paths, &e->text, sizeof(e->text));
	}
}

static void read_audit_allowed(struct reading *r, const struct yaml_node *v, void *arg)
{
	bool is_on = true;

	(void)arg;
	if (read_bool(r, v, "allowed", &is_on))
		r->draft->hides_allowed = !is_on;
}

static void read_audit_failure(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"deny", "continue", NULL};

	(void)arg;
	r->draft->fails_open = read_word(r, v, "on_failure", words) == 1;
}

static void read_audit(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const struct read_key keys[] = {
		{"allowed", read_audit_allowed},
		{"on_failure", read_audit_failure},
	};

	(void)arg;
	read_map(r, v, "audit", keys, 2, NULL);
}

/* --- limits */

#define LIMIT(field)                                                                               \
	static void read_limit_##field(struct reading *r, const struct yaml_node *v, void *arg)    \
	{                                                                                          \
		struct policy_limits *limits = arg;                                                \
                                                                                                   \
		read_u64(r, v, #field, 1, INT64_MAX, &limits->field);                              \
	}
LIMIT(connections)
LIMIT(bytes_out)
LIMIT(bytes_in)
LIMIT(requests_per_minute)
#undef LIMIT

void parse_limits(struct reading *r, const struct yaml_node *value, void *limits)
{
	static const struct read_key keys[] = {
		{"connections", read_limit_connections},
		{"bytes_out", read_limit_bytes_out},
		{"bytes_in", read_limit_bytes_in},
		{"requests_per_minute", read_limit_requests_per_minute},
	};

	read_map(r, value, "limits", keys, 4, limits);
}

static void read_limits(struct reading *r, const struct yaml_node *v, void *arg)
{
	(void)arg;
	parse_limits(r, v, &r->draft->limits);
}

const struct read_key parse_option_keys[] = {
	{"version", read_version},
	{"default", read_default},
	{"secrets", parse_secrets},
	{"upstream", parse_upstreams},
	{"private", read_private},
	{"host_ports", read_host_ports},
	{"dns", read_dns},
	{"resolver", read_resolver},
	{"inbound", read_inbound},
	{"unix", read_unix},
	{"audit", read_audit},
	{"limits", read_limits},
};
const size_t parse_n_option_keys = sizeof(parse_option_keys) / sizeof(parse_option_keys[0]);
