/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A growable byte buffer. A failed allocation is remembered, so that a row of appends needs one
 * check at the end.
 */
#ifndef NEJ_BASE_BUF_H
#define NEJ_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* NUL behind len once anything was appended; NULL while empty */
	size_t len;
	size_t cap;
	bool is_failed; /* an allocation failed; appends since are lost */
};

void buf_init(struct buf *b);
void buf_done(struct buf *b);
void buf_wipe(
	struct buf *b); /* buf_done for secrets: zeroed first (earlier, smaller copies are not) */
void buf_clear(struct buf *b);                     /* length 0, memory kept */
int buf_reserve(struct buf *b, size_t more_bytes); /* 0 or -ENOMEM */
void buf_add(struct buf *b, const void *data, size_t len_bytes);
void buf_add_str(struct buf *b, const char *s);
void buf_add_char(struct buf *b, char c);
void buf_add_u64(struct buf *b, unsigned long long v); /* decimal */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_drop_front(struct buf *b, size_t len_bytes);

/* Appends a JSON string with quotes: ASCII only, everything else as \u escapes; bytes that are not
 * UTF-8 as U+FFFD. At most max_bytes of input are taken, a cut is marked with U+2026. */
void buf_add_json(struct buf *b, const char *s, size_t len_bytes, size_t max_bytes);

#endif
