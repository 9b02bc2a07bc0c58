/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The request target of an HTTP/1 request: origin, absolute, authority and asterisk form
 * (RFC 9112 section 3.2). The host in it is parsed here and nowhere else.
 */
#ifndef NEJ_WIRE_TARGET_H
#define NEJ_WIRE_TARGET_H

#include "host.h"
#include "http1.h"

enum target_form {
	TARGET_ORIGIN,    /* /path?query */
	TARGET_ABSOLUTE,  /* http://host[:port]/path?query */
	TARGET_AUTHORITY, /* host:port of CONNECT */
	TARGET_ASTERISK,  /* OPTIONS * */
};

struct target {
	enum target_form form;
	struct host host; /* absolute and authority */
	uint16_t port;    /* absolute: 80 when it names none */
	/* What the next hop's request line says: path and query as sent. Points into the request's
	 * target, or to a constant, or into `rooted`. */
	struct http1_text path;
	struct http1_text decide; /* the path to decide by: `/` for the asterisk form */
	bool is_rooted; /* the sender left out the path before `?`: `/` is to be put before path */
};

/* 0; -EINVAL host or port malformed (user-info too); -EBADMSG a fragment, or not a target this
 * method may have; -EPROTONOSUPPORT an absolute target of another scheme than http. */
int target_parse(struct http1_text method, struct http1_text text, struct target *ret);

/* The Host field: HOST[:PORT], *ret_port 0 without one. 0 or -EINVAL. */
int target_parse_host(struct http1_text field, struct host *ret, uint16_t *ret_port);

#endif
