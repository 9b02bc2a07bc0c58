/* SPDX-License-Identifier: GPL-2.0-only */
/* Request targets; see target.h. */
#include "target.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static const struct http1_text root = {"/", 1};
static const struct http1_text asterisk = {"*", 1};

/* The authority ends at the first byte of a path or query. What is malformed inside, user-info
 * included, is host_parse_port's to refuse. */
static size_t authority_len(struct http1_text t)
{
	size_t n = 0;

	while (n < t.len && !strchr("/?#\\", t.ptr[n]))
		n++;
	return n;
}

static int parse_absolute(struct http1_text method, struct http1_text text, struct target *ret)
{
	struct http1_text rest = {text.ptr + 7, text.len - 7};
	size_t n = authority_len(rest);
	int r;

	ret->form = TARGET_ABSOLUTE;
	r = host_parse_port(rest.ptr, n, &ret->host, &ret->port);
	if (r < 0)
		return -EINVAL;
	if (!ret->port)
		ret->port = 80;
	rest.ptr += n;
	rest.len -= n;
	ret->path = ret->decide = rest;
	if (!rest.len) {
		ret->path = http1_text_is(method, "options") ? asterisk : root;
		ret->decide = root;
	} else if (*rest.ptr == '?') {
		ret->is_rooted = true;
		ret->decide = root;
	} else if (*rest.ptr != '/') {
		return -EINVAL; /* a backslash: some clients' slash, no part of a host */
	}
	return 0;
}

static int parse_authority(struct http1_text text, struct target *ret)
{
	ret->form = TARGET_AUTHORITY;
	if (host_parse_port(text.ptr, text.len, &ret->host, &ret->port) < 0 || !ret->port)
		return -EINVAL;
	return 0;
}

int target_parse(struct http1_text method, struct http1_text text, struct target *ret)
{
	ret->is_rooted = false;
	if (memchr(text.ptr, '#', text.len))
		return -EBADMSG;
	if (method.len == 7 && !memcmp(method.ptr, "CONNECT", 7))
		return parse_authority(text, ret);
	if (text.len && *text.ptr == '/') {
		ret->form = TARGET_ORIGIN;
		ret->path = ret->decide = text;
		return 0;
	}
	if (text.len >= 7 && !strncasecmp(text.ptr, "http://", 7))
		return parse_absolute(method, text, ret);
	if (text.len == 1 && *text.ptr == '*' && http1_text_is(method, "options")) {
		ret->form = TARGET_ASTERISK;
		ret->path = asterisk;
		ret->decide = root;
		return 0;
	}
	return memmem(text.ptr, text.len, "://", 3) ? -EPROTONOSUPPORT : -EBADMSG;
}

int target_parse_host(struct http1_text field, struct host *ret, uint16_t *ret_port)
{
	return host_parse_port(field.ptr, field.len, ret, ret_port) < 0 ? -EINVAL : 0;
}
