/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moving bytes between the two halves of a connection, with backpressure, half-close and RST passed
 * on. Internal to user/proxy.
 */
#ifndef NEJ_PROXY_PUMP_H
#define NEJ_PROXY_PUMP_H

#include "half.h"

/* Reads from `from` as much as `to` takes; passes the FIN on. 0 or negative errno. */
int pump_move(struct conn *c, struct half *from, struct half *to);

/* The connection is a tunnel from now on: setup and http are freed, `first` (client bytes read
 * already) goes up. Returns a value for conn_end. */
int pump_start(struct conn *c, const char *first, size_t len_bytes);

#endif
