/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sandbox was refused, gathered from its log as targets of the policy language, and as notes
 * where no rule would help. suggest.c prints it. Nothing of a record is believed: a host or path that
 * is not plainly one becomes a note.
 */
#ifndef NEJ_CLI_WANTED_H
#define NEJ_CLI_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../audit/read.h"
#include "../wire/host.h"

#define WANTED_METHODS_BYTES 96
#define WANTED_PATH_BYTES 256
#define WANTED_NOTE_BYTES 320
#define WANTED_TEXT_BYTES (HOST_MAX_BYTES + WANTED_METHODS_BYTES + WANTED_PATH_BYTES + 64)
#define WANTED_MAX 100000 /* different things gathered; the attempts of others are only counted */

enum wanted_kind {
	WANTED_HOST, /* a host, by scheme and port */
	WANTED_URL,  /* a method and path of it */
	WANTED_SITE, /* a name and all under it */
	WANTED_ADDR, /* an address */
	WANTED_NOTE, /* no rule: `note` says why */
};

struct wanted {
	uint8_t kind;       /* enum wanted_kind */
	bool is_by_name;    /* only its name was asked for (DNS): the port is not known */
	bool is_dropped;    /* another one covers it */
	const char *scheme; /* "https://", "http://", "tcp://", or "" */
	uint16_t port;      /* 0: the scheme's, or 443 and 80 */
	char host[HOST_MAX_BYTES + 1];
	char methods[WANTED_METHODS_BYTES];
	char path[WANTED_PATH_BYTES];
	char note[WANTED_NOTE_BYTES];
	char shared[HOST_MAX_BYTES + 1]; /* the shared suffix it lies under; "" */
	unsigned int n_hosts;            /* WANTED_SITE: how many names were asked for */
	uint64_t count;
};

struct wanted_list {
	struct wanted **items;
	size_t n, cap;
	uint64_t n_denied,
		n_others; /* attempts: all, and those of which only this number is kept */
	struct wanted_index *index;
};

int wanted_init(struct wanted_list *l); /* 0, -ENOMEM */
void wanted_done(struct wanted_list *l);

/* Takes one record of the log, whatever it is. 0, -ENOMEM. */
int wanted_add(struct wanted_list *l, const struct audit_record *r);

/* As a target of the policy language; printable ASCII. Not for a note. */
void wanted_print(const struct wanted *w, char ret[static WANTED_TEXT_BYTES]);

/* Joins what belongs together (names of a site, paths of a host, methods of a path) and puts the
 * most wanted first. 0, -ENOMEM. */
int wanted_settle(struct wanted_list *l);

#endif
