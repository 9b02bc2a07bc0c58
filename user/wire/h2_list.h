/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An HTTP/1 head as hop.c printed it becomes an HTTP/2 field list, and a chunked body its plain
 * bytes. For text of our own only, not for what a peer sent. Pure. Read h2.h for the way in.
 */
#ifndef NEJ_WIRE_H2_LIST_H
#define NEJ_WIRE_H2_LIST_H

#include "h2.h"

#define H2_LIST_FIELDS 136 /* HTTP1_MAX_FIELDS and the pseudo fields */

struct h2_field {
	struct h2_text name, value;
	bool is_sensitive; /* never into a compression table (RFC 7541 section 7.1.3) */
};

/* Points into the text and into `names`. */
struct h2_list {
	size_t n;
	struct h2_shape shape; /* of the body that follows the head */
	struct buf names;      /* in lower case */
	struct h2_field fields[H2_LIST_FIELDS];
};

/* Each takes one whole head, blank line included, and fills the list: pseudo fields first, those of
 * one hop left out, Host as :authority, 101 as 200. 0; -EBADMSG not a head of ours; -E2BIG;
 * -ENOMEM. */
int h2_list_request(struct h2_list *l, const char *text, size_t len_bytes);
/* is_head: its request was HEAD. */
int h2_list_response(struct h2_list *l, const char *text, size_t len_bytes, bool is_head);
/* Trailer lines, without a blank one behind them. */
int h2_list_trailers(struct h2_list *l, const char *text, size_t len_bytes);
void h2_list_done(struct h2_list *l);

enum h2_dechunk_state {
	H2_DECHUNK_SIZE,
	H2_DECHUNK_DATA,
	H2_DECHUNK_DATA_END,
	H2_DECHUNK_TRAILERS,
	H2_DECHUNK_DONE,
};

/* Takes our own chunked framing off again. All zero to begin with. */
struct h2_dechunk {
	enum h2_dechunk_state state;
	uint64_t left;
	uint8_t n_digits;
	bool is_cr;
	struct buf trailers; /* lines */
};

/* Appends at most room bytes of body to out. *ret_used: of data. 1 at the end, 0, -EBADMSG. */
int h2_dechunk_feed(struct h2_dechunk *d, const char *data, size_t len_bytes, size_t room,
	struct buf *out, size_t *ret_used);
void h2_dechunk_done(struct h2_dechunk *d);

#endif
