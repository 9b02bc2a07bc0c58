/* SPDX-License-Identifier: GPL-2.0-only */
/* termios(3) and a few private modes of xterm that every emulator has; see tty.h. */
#include "tty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/file.h"

/* The other page, no cursor, pasted text between marks; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?2004h\033[2J"
#define LEAVE "\033[?2004l\033[?25h\033[?1049l"

bool tty_is_able(int in, int out)
{
	const char *term = getenv("TERM");

	return isatty(in) && isatty(out) && term && *term && strcmp(term, "dumb") != 0;
}

int tty_enter(struct tty *t, int in, int out)
{
	struct termios mode;

	*t = (struct tty){.in = in, .out = out};
	if (tcgetattr(in, &t->saved) < 0)
		return -errno;
	mode = t->saved;
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_iflag &= ~(tcflag_t)ICRNL; /* Ctrl-J and Enter are both KEY_ENTER */
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	if (tcsetattr(in, TCSAFLUSH, &mode) < 0)
		return -errno;
	t->is_ours = true;
	return tty_write(t, ENTER, strlen(ENTER));
}

void tty_leave(struct tty *t)
{
	if (!t->is_ours)
		return;
	(void)tty_write(t, LEAVE, strlen(LEAVE));
	tcsetattr(t->in, TCSADRAIN, &t->saved);
	t->is_ours = false;
}

void tty_size(const struct tty *t, unsigned int *ret_columns, unsigned int *ret_rows)
{
	struct winsize size = {0};

	if (ioctl(t->out, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_col = 80, .ws_row = 24};
	*ret_columns = size.ws_col;
	*ret_rows = size.ws_row;
}

int tty_write(const struct tty *t, const char *data, size_t len_bytes)
{
	return file_write_fd(t->out, data, len_bytes);
}
