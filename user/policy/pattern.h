/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One target of a rule: `[METHODS ][SCHEME://]HOST[:PORT][/PATH]` or `CIDR[:PORT]`. Only its
 * grammar; what matches is decide.c's.
 */
#ifndef NEJ_POLICY_PATTERN_H
#define NEJ_POLICY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/addr.h"
#include "arena.h"

enum pattern_kind {
	PATTERN_NAME,  /* a.example: that name */
	PATTERN_TREE,  /* .a.example: it and every name under it */
	PATTERN_UNDER, /* *.a.example: every name under it */
	PATTERN_ANY,   /* *: every name */
	PATTERN_RANGE, /* addresses */
	PATTERN_LIST,  /* {list: FILE}: each of its hosts as PATTERN_TREE */
};

enum pattern_scheme {
	PATTERN_NO_SCHEME,
	PATTERN_HTTPS,
	PATTERN_HTTP,
	PATTERN_TCP,
	PATTERN_UDP,
};

struct pattern_path {
	const char *text; /* a reading of wire/url.h, with URL_STAR */
	size_t len;
};

struct pattern {
	uint8_t kind;   /* enum pattern_kind */
	uint8_t scheme; /* enum pattern_scheme */
	bool has_port;
	uint16_t first, last; /* ports */
	const char *name;     /* NAME, TREE, UNDER: lower case, no dot or star before it */
	size_t name_len;
	struct prefix prefix; /* RANGE */
	uint32_t list;        /* LIST: its number */
	const char *methods;  /* `GET,HEAD`, NULL for any */
	size_t methods_len;
	bool has_path;
	bool is_caseless; /* full and plain are in lower case; the rule's, not grammar */
	struct pattern_path full, plain;

	/* where it stands */
	const char *text;
	unsigned int line, column;
	uint32_t rule;
};

struct pattern_error {
	size_t at; /* byte of the text */
	char what[200];
	char mend[200];
};

/* 0; -EINVAL with why filled; -ENOMEM. Writes grammar fields only. */
int pattern_parse(struct arena *a, const char *s, size_t len_bytes, struct pattern *ret,
	struct pattern_error *why);

/* HOST alone: no method, scheme, port, path, address or bare `*`. */
int pattern_parse_host(struct arena *a, const char *s, size_t len_bytes, struct pattern *ret,
	struct pattern_error *why);

static inline bool pattern_is_conditional(const struct pattern *p)
{
	return p->methods || p->has_path;
}

#endif
