/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the REQUESTs of `nej explain` and decides them; see request.h. */
#include "request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "../wire/url.h"
#include "idn.h"
#include "policy.h"

static const struct scheme_row {
	const char *text;
	enum policy_scheme scheme;
	uint16_t port; /* 0: it must be written */
} rows[] = {
	{"https", POLICY_SCHEME_HTTPS, 443},
	{"http", POLICY_SCHEME_HTTP, 80},
	{"tcp", POLICY_SCHEME_TCP, 0},
	{"udp", POLICY_SCHEME_UDP, 0},
};

static void refuse(struct policy_decision *ret, enum nej_reason reason)
{
	*ret = (struct policy_decision){
		.verdict = POLICY_DENY, .reason = reason, .rule = POLICY_NO_RULE};
}

/* Where the port's colon stands, or the end. */
static size_t host_len(const char *s, size_t len)
{
	const char *from = len && *s == '[' ? memchr(s, ']', len) : s;
	const char *colon = from ? memchr(from, ':', len - (size_t)(from - s)) : NULL;

	return colon ? (size_t)(colon - s) : len;
}

/* HOST[:PORT] as people write it: names in their own script too. */
static int parse_authority(const char *s, size_t len, struct host *ret, uint16_t *ret_port)
{
	char text[IDN_MAX_BYTES + 8];
	size_t n = host_len(s, len);
	bool is_wide = false;

	for (size_t i = 0; i < n; i++)
		is_wide |= (unsigned char)s[i] >= 0x80;
	if (!is_wide)
		return host_parse_port(s, len, ret, ret_port);
	if (idn_to_ascii(s, n, text) < 0 || len - n > 6)
		return -EINVAL;
	n = strlen(text);
	memcpy(text + n, s + host_len(s, len), len - host_len(s, len));
	return host_parse_port(text, n + len - host_len(s, len), ret, ret_port);
}

/* What is said of a connection whose protocol or URL is not known: the proxy would look on. */
static void settle(struct policy_decision *d)
{
	if (d->verdict == POLICY_NEED_URL)
		d->verdict = POLICY_ALLOW;
}

/* The sandbox's own loopback leads to the host's services that the policy names. */
static bool is_host_port(const struct policy *p, const struct policy_ask *ask)
{
	bool is_loopback = ask->host->is_local ||
		(ask->host->kind == HOST_ADDR && !ask->host->is_embedded &&
			addr_classify(&ask->host->addr, NULL) == NEJ_RANGE_LOOPBACK);

	return is_loopback && ask->scheme != POLICY_SCHEME_UDP &&
		policy_has_host_port(p, ask->port);
}

static void decide(
	const struct policy *p, const struct policy_ask *ask, struct policy_decision *ret)
{
	policy_decide(p, ask, ret);
	settle(ret);
	if (is_host_port(p, ask)) {
		refuse(ret, NEJ_REASON_RULE);
		ret->verdict = POLICY_ALLOW;
	}
}

static int explain_dns(const struct policy *p, const char *name, struct policy_decision *ret)
{
	struct host host;
	uint16_t port;

	if (!*name)
		return -EINVAL;
	if (parse_authority(name, strlen(name), &host, &port) < 0 || port)
		refuse(ret, NEJ_REASON_MALFORMED_HOST);
	else
		policy_decide_dns(p, &host, ret);
	return 0;
}

static const struct scheme_row *find_scheme(const struct url *u)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].text) == u->scheme_len &&
			!strncasecmp(rows[i].text, u->scheme, u->scheme_len))
			return &rows[i];
	return NULL;
}

static int explain_url(const struct policy *p, const char *method, size_t method_len,
	const char *text, struct policy_decision *ret)
{
	const struct scheme_row *row;
	struct policy_ask ask = {.method = method_len ? method : "GET", .method_len = 3};
	struct host host;
	struct url u;
	bool has_port;

	if (url_split(text, strlen(text), &u) < 0)
		return -EINVAL;
	row = find_scheme(&u);
	if (!row || (!row->port && (method_len || u.path_len != 1 || u.path[0] != '/')))
		return -EINVAL;
	has_port = host_len(u.authority, u.authority_len) < u.authority_len;
	if (!row->port && !has_port && u.authority_len)
		return -EINVAL;
	if (parse_authority(u.authority, u.authority_len, &host, &ask.port) < 0) {
		refuse(ret, NEJ_REASON_MALFORMED_HOST);
		return 0;
	}
	if (method_len)
		ask.method_len = method_len;
	ask.port = ask.port ? ask.port : row->port;
	ask.scheme = row->scheme;
	ask.host = &host;
	ask.has_url = row->port != 0;
	ask.path = u.path;
	ask.path_len = u.path_len;
	decide(p, &ask, ret);
	return 0;
}

static int explain_host_port(const struct policy *p, const char *text, struct policy_decision *ret)
{
	struct policy_ask ask = {.scheme = POLICY_SCHEME_ANY};
	size_t len = strlen(text), n = host_len(text, len);
	struct host host;

	if (!n || len - n < 2 || strpbrk(text, "/ "))
		return -EINVAL;
	ask.host = &host;
	if (parse_authority(text, len, &host, &ask.port) < 0)
		refuse(ret, NEJ_REASON_MALFORMED_HOST);
	else
		decide(p, &ask, ret);
	return 0;
}

int request_explain(const struct policy *p, const char *text, struct policy_decision *ret)
{
	const char *space = strchr(text, ' '), *rest = space;

	if (!strncmp(text, "dns:", 4))
		return explain_dns(p, text + 4, ret);
	if (!strstr(text, "://"))
		return explain_host_port(p, text, ret);
	/* A blank behind the scheme belongs to the URL, and makes it a bad one. */
	if (!space || strstr(text, "://") < space)
		return explain_url(p, NULL, 0, text, ret);
	while (*rest == ' ')
		rest++;
	if (space == text)
		return -EINVAL;
	return explain_url(p, text, (size_t)(space - text), rest, ret);
}
