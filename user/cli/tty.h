/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal that is ours for a while: another page, no cursor, each key at once. It is given back as it was,
 * also when it stops us and goes on. Signals of the keyboard stay signals.
 */
#ifndef NEJ_CLI_TTY_H
#define NEJ_CLI_TTY_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct tty {
	int in, out;
	bool is_ours;
	struct termios saved;
};

/* Are both a terminal that can do what screen.h writes? */
bool tty_is_able(int in, int out);
/* 0 or negative errno. */
int tty_enter(struct tty *t, int in, int out);
void tty_leave(struct tty *t);
void tty_size(const struct tty *t, unsigned int *ret_columns, unsigned int *ret_rows);
/* All of it, or the terminal is gone: negative errno. */
int tty_write(const struct tty *t, const char *data, size_t len_bytes);

#endif
