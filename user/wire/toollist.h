/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes tools that are not allowed out of an MCP server's lists: in a JSON answer, and in each event
 * of an event stream. Everything else passes byte for byte, and at once. What a list still shows
 * could not be called anyway (jsonrpc.h), so this is for the client's understanding.
 */
#ifndef NEJ_WIRE_TOOLLIST_H
#define NEJ_WIRE_TOOLLIST_H

#include "jsonrpc.h"
#include "sieve.h"

#define TOOLLIST_MAX_BYTES (16u << 20) /* kept back of one answer or event: -ENOBUFS */

/* Who says what is allowed, for as long as the sieve lives. */
struct toollist_policy {
	jsonrpc_allows allows;
	const void *arg;
	size_t *held_bytes; /* counts what is kept back, up to NEJ_MAX_HELD_BYTES; NULL */
};

/* A response with results: appends it to out without the tools that are not allowed. 1: something
 * was taken out; 0: nothing, out is as it was; -EBADMSG: it names tools and is not JSON that all
 * readers understand alike; -ENOMEM. */
int toollist_filter(
	const char *text, size_t len_bytes, const struct toollist_policy *p, struct buf *out);

/* Content-Type application/json: kept until it is whole. NULL without memory. */
struct sieve *toollist_new_json(const struct toollist_policy *p);
/* text/event-stream (WHATWG HTML, 9.2): kept are data lines until their event ends. */
struct sieve *toollist_new_events(const struct toollist_policy *p);

#endif
