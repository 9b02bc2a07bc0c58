/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the client speak and whom does it name? Then the decision, and on to the dialler, the
 * tunnel or the HTTP relay. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_SNIFF_H
#define NEJ_PROXY_SNIFF_H

#include "conn.h"
#include "record.h"

#define SNIFF_LIMIT_MS 15000      /* first bytes begun, to be finished */
#define SNIFF_IDLE_LIMIT_MS 60000 /* nothing said yet after a CONNECT */
#define SNIFF_EAGER_LIMIT_MS 700  /* nothing said yet where the server may have to speak first */

enum sniff_kind {
	SNIFF_MORE, /* too few bytes to tell */
	SNIFF_TLS,
	SNIFF_HTTP,
	SNIFF_RAW,
};

/* By the first bytes of a connection. An unfinished text line that could be a request is MORE. */
enum sniff_kind sniff_classify(const char *data, size_t len_bytes);

/* How long to wait for the client's next bytes. */
uint64_t sniff_limit_ms(const struct setup *s);

/* setup->step of a connection whose destination, as far as it is known, stands in setup. */
int sniff_step(struct conn *c);
/* Is it settled without client bytes: a host port, or a server that may speak first? Dials then. */
int sniff_early(struct conn *c);
/* setup->reached while the client's bytes are still to be understood. */
int sniff_reached_early(struct conn *c);
/* The client ended or the time was up before it could be understood. */
int sniff_gave_up(struct conn *c, bool is_timeout);

/* The ask of the connection as it is known now. */
struct ask sniff_ask(const struct conn *c);

/* Dials setup->host; then setup->reached. Returns a value for conn_end. */
int sniff_dial(struct conn *c);

#endif
