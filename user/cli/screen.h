/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One frame of a terminal as text: lines of printable ASCII, none wider than the terminal, with the few
 * control sequences of ECMA-48 that put them in place. Whatever is shown, only those come out. Does no
 * I/O: tty.h writes it.
 */
#ifndef NEJ_CLI_SCREEN_H
#define NEJ_CLI_SCREEN_H

#include <stdbool.h>

#include "../base/buf.h"

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_SELECTED,
	SCREEN_ALARM,
	SCREEN_DIM,
};

struct screen {
	struct buf out;
	unsigned int columns, rows;
	unsigned int row; /* lines that are full */
	struct buf line;  /* the one that is being written, without escapes */
};

void screen_init(struct screen *s);
void screen_done(struct screen *s);
/* A new frame of this size (at least 1 by 1). */
void screen_begin(struct screen *s, unsigned int columns, unsigned int rows);
/* Clears what is below; `out` is the frame. */
void screen_end(struct screen *s);

/* To the line that is being written. screen_add: a text of whatever bytes. */
void screen_add(struct screen *s, const char *text);
void screen_printf(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Up to this column, and one blank at least. */
void screen_pad(struct screen *s, unsigned int column);
/* Ends the line, which is cut at the right. Lines below the last one are lost. */
void screen_end_line(struct screen *s, enum screen_style style);
/* As many lines as it takes. False: there is not room for all of it, and nothing of it is shown. */
bool screen_add_whole(struct screen *s, const char *text, enum screen_style style);

#endif
