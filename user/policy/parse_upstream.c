/* SPDX-License-Identifier: GPL-2.0-only */
/* The forward proxies of a policy, with the file of each `ca`; see parse.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../wire/url.h"
#include "parse.h"

#define MAX_CA_BYTES (1 << 20)
#define MAX_CREDENTIAL_BYTES 1024

struct upstream_parts {
	struct draft_upstream upstream;
	const struct yaml_node *url, *username, *password;
};

static const char url_mend[] = "write url: http://proxy.example.com:3128";

/* RFC 9110 section 4.2.4: user-info in a URL is a mistake here; it has keys of its own. */
static bool has_user_info(const struct url *u)
{
	return memchr(u->authority, '@', u->authority_len) != NULL;
}

static bool split_proxy(const struct url *u, struct draft_upstream *ret)
{
	bool is_plain = u->scheme_len == 4 && !memcmp(u->scheme, "http", 4);

	ret->is_tls = u->scheme_len == 5 && !memcmp(u->scheme, "https", 5);
	if ((!is_plain && !ret->is_tls) || u->path_len != 1 || u->path[0] != '/' ||
		host_parse_port(u->authority, u->authority_len, &ret->host, &ret->port) < 0)
		return false;
	if (!ret->port)
		ret->port = ret->is_tls ? 443 : 80;
	return true;
}

static void read_url(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct upstream_parts *parts = arg;
	struct url u;

	parts->url = v;
	if (!read_is_text(r, v, "url"))
		return;
	if (url_split(v->text, v->len, &u) < 0)
		READ_FAIL(r, v, url_mend, "`%.100s` is not the URL of a forward proxy", v->text);
	else if (has_user_info(&u)) /* not shown: it may hold a password */
		READ_FAIL(r, v,
			"write { url: http://proxy:3128, username: NAME, password: SECRET }",
			"credentials in the URL of a forward proxy");
	else if (!split_proxy(&u, &parts->upstream))
		READ_FAIL(r, v, url_mend, "`%.100s` is not the URL of a forward proxy", v->text);
}

/* The file is read here: who dials may open nothing. */
static void read_ca(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct draft_upstream *u = &((struct upstream_parts *)arg)->upstream;
	_cleanup_free_ char *data = NULL;
	char path[PATH_MAX];
	bool is_relative;
	size_t len;
	int n, error;

	if (!read_is_text(r, v, "ca"))
		return;
	is_relative = r->dir && v->text[0] != '/';
	n = snprintf(path, sizeof(path), "%s%s%s", is_relative ? r->dir : "",
		is_relative ? "/" : "", v->text);
	error = n < (int)sizeof(path) ? file_read(path, MAX_CA_BYTES, &data, &len) : -ENAMETOOLONG;
	if (error < 0) {
		READ_FAIL(r, v, "the path is relative to the policy", "the file `%.128s`: %s",
			v->text, strerror(-error));
		return;
	}
	if (memchr(data, 0, len) || !strstr(data, "-----BEGIN CERTIFICATE-----")) {
		READ_FAIL(r, v, "name a file of certificates in PEM",
			"there is no certificate in `%.128s`", v->text);
		return;
	}
	u->ca_path = v->text;
	u->ca = arena_copy(&r->draft->arena, data, len);
	u->ca_len = u->ca ? len : 0;
}

static bool has_control(const struct yaml_node *v)
{
	for (size_t i = 0; i < v->len; i++)
		if ((unsigned char)v->text[i] < ' ' || v->text[i] == 0x7f)
			return true;
	return false;
}

/* RFC 7617 section 2: no control characters, no colon in the name. */
static const char *read_credential(struct reading *r, const struct yaml_node *v)
{
	const char *what = v->key->text;

	if (!read_is_text(r, v, what))
		return NULL;
	if (v->len > MAX_CREDENTIAL_BYTES)
		READ_FAIL(r, v, "make it shorter", "the %s is longer than %d bytes", what,
			MAX_CREDENTIAL_BYTES);
	else if (has_control(v))
		READ_FAIL(r, v, "write it on one line", "the %s has control characters", what);
	else
		return v->text;
	return NULL;
}

static void read_username(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct upstream_parts *parts = arg;

	parts->username = v;
	parts->upstream.username = read_credential(r, v);
	if (parts->upstream.username && strchr(parts->upstream.username, ':'))
		READ_FAIL(
			r, v, "a password goes under `password`", "a username cannot have a colon");
}

static void read_password(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct upstream_parts *parts = arg;

	parts->password = v;
	parts->upstream.password = read_credential(r, v);
}

static void read_connect(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"address", "name", NULL};

	((struct upstream_parts *)arg)->upstream.is_by_name =
		read_word(r, v, "connect", words) == 1;
}

static void parse_upstream(struct reading *r, const struct yaml_node *v)
{
	static const struct read_key keys[] = {
		{"url", read_url},
		{"ca", read_ca},
		{"username", read_username},
		{"password", read_password},
		{"connect", read_connect},
	};
	struct upstream_parts parts = {.upstream = {.name = v->key->text}};

	read_map(r, v, "an upstream", keys, sizeof(keys) / sizeof(keys[0]), &parts);
	if (v->kind != YAML_MAP)
		return;
	if (!parts.url)
		READ_FAIL(r, v->key, url_mend, "the upstream `%.64s` has no `url`",
			parts.upstream.name);
	if (!parts.username != !parts.password)
		READ_FAIL(r, v->key, "write both or neither", "the upstream `%.64s` has a %s alone",
			parts.upstream.name, parts.username ? "username" : "password");
	if (parts.url && parts.upstream.ca && !parts.upstream.is_tls && parts.upstream.port)
		READ_FAIL(r, v->key, "write url: https://... or leave `ca` out",
			"the upstream `%.64s` has a `ca` but its url is not https",
			parts.upstream.name);
	buf_add(&r->draft->upstreams, &parts.upstream, sizeof(parts.upstream));
}

void parse_upstreams(struct reading *r, const struct yaml_node *value, void *arg)
{
	(void)arg;
	if (!read_is_named_map(r, value, "upstream", DRAFT_MAX_UPSTREAMS))
		return;
	for (const struct yaml_node *v = value->first; v; v = v->next)
		parse_upstream(r, v);
}
