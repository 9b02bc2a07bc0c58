/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds known texts (credentials, their placeholders) in bytes, in every form in which they travel:
 * raw, percent-encoded, as a JSON string, in base64, in hex. Only looks; swap.h replaces. The texts
 * are borrowed and never copied, since they may be secret.
 */
#ifndef NEJ_WIRE_NEEDLE_H
#define NEJ_WIRE_NEEDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEEDLE_MAX 64      /* texts of one set */
#define NEEDLE_MIN_BYTES 8 /* shorter texts would be found everywhere: they are not looked for */
#define NEEDLE_MAX_BYTES 16384

struct needle {
	const char *text; /* printable, any bytes but controls */
	size_t len;
	bool is_case_blind; /* found in any mixture of cases, as an altered form */
};

enum needle_form {
	NEEDLE_RAW,
	NEEDLE_PERCENT, /* some bytes are %XX; doubly encoded too if the text has no % itself */
	NEEDLE_JSON,    /* some bytes are \uXXXX or \c (RFC 8259 section 7) */
	NEEDLE_BASE64,  /* both alphabets, at any place of a longer text (RFC 4648) */
	NEEDLE_HEX,
};

struct needle_hit {
	size_t start, end; /* in the bytes that were searched */
	uint16_t id;       /* number of the text in the list */
	uint8_t form;      /* enum needle_form */
	uint8_t skip_bits; /* BASE64: bits of the text's beginning in a digit shared with others */
	bool is_altered;   /* letters in the other case, or encoded more than once */
};

struct needles;

/* list: at most NEEDLE_MAX texts that outlive the set; the index is the id. -E2BIG, -ENOMEM. */
int needles_new(const struct needle *list, size_t n, struct needles **ret);
void needles_free(struct needles *set); /* wiped, it tells something of the texts */
bool needles_is_empty(const struct needles *set);

/* Most bytes that an occurrence can have. */
size_t needles_span(const struct needles *set);

/* The first occurrence that begins at `from` or later and is complete; of those at one place the
 * longest. One pass: about the cost of a memchr over the bytes where nothing looks like a text. */
bool needles_find(const struct needles *set, const char *data, size_t len_bytes, size_t from,
	struct needle_hit *ret);

/* Where an occurrence may begin, at `from` or later, of which the end of data is only a part;
 * len_bytes where none may. */
size_t needles_tail(const struct needles *set, const char *data, size_t len_bytes, size_t from);

/* Digits of a text's base64 form that depend on the text alone (skip_bits as in a hit), and the
 * digit number i of them. */
size_t needle_sextets(size_t len_bytes, unsigned skip_bits);
unsigned needle_sextet(const char *text, unsigned skip_bits, size_t i);

#endif
