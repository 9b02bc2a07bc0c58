/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames; see screen.h. */
#include "screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ECMA-48: CUP (home), EL and ED (to the end of the line, of the page), SGR. */
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define RESET "\033[0m"

static const char *const styles[] = {
	[SCREEN_PLAIN] = "",
	[SCREEN_BOLD] = "\033[1m",
	[SCREEN_SELECTED] = "\033[7m",
	[SCREEN_ALARM] = "\033[1;31m",
	[SCREEN_DIM] = "\033[2m",
};

void screen_init(struct screen *s)
{
	*s = (struct screen){.columns = 80, .rows = 24};
	buf_init(&s->out);
	buf_init(&s->line);
}

void screen_done(struct screen *s)
{
	buf_done(&s->out);
	buf_done(&s->line);
}

void screen_begin(struct screen *s, unsigned int columns, unsigned int rows)
{
	buf_clear(&s->out);
	buf_clear(&s->line);
	s->columns = columns ? columns : 1;
	s->rows = rows ? rows : 1;
	s->row = 0;
	buf_add_str(&s->out, HOME);
}

void screen_end(struct screen *s)
{
	if (s->row < s->rows)
		buf_add_str(&s->out, CLEAR_BELOW);
}

void screen_add(struct screen *s, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (; *text && s->line.len <= s->columns; text++) {
		unsigned char c = (unsigned char)*text;
		const char escaped[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};

		if (c >= 0x20 && c < 0x7f)
			buf_add_char(&s->line, *text);
		else
			buf_add(&s->line, escaped, sizeof(escaped));
	}
}

void screen_printf(struct screen *s, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	screen_add(s, text);
}

void screen_pad(struct screen *s, unsigned int column)
{
	do
		screen_add(s, " ");
	while (s->line.len < column && s->line.len < s->columns);
}

/* A cut shows. */
static void add_line(struct screen *s, const char *text, size_t len, enum screen_style style)
{
	bool is_cut = len > s->columns;

	if (s->row++)
		buf_add_str(&s->out, "\r\n");
	buf_add_str(&s->out, styles[style]);
	buf_add(&s->out, text, is_cut ? s->columns - 1 : len);
	if (is_cut)
		buf_add_char(&s->out, '>');
	if (*styles[style])
		buf_add_str(&s->out, RESET);
	/* behind the last column the cursor still stands on it */
	if (len < s->columns)
		buf_add_str(&s->out, CLEAR_LINE);
}

void screen_end_line(struct screen *s, enum screen_style style)
{
	if (s->row < s->rows)
		add_line(s, s->line.len ? s->line.data : "", s->line.len, style);
	buf_clear(&s->line);
}

bool screen_add_whole(struct screen *s, const char *text, enum screen_style style)
{
	size_t len = strlen(text);

	if ((len + s->columns - 1) / s->columns > s->rows - s->row)
		return false;
	for (size_t at = 0; at < len; at += s->columns) {
		size_t n = len - at < s->columns ? len - at : s->columns;

		for (size_t i = at; i < at + n; i++)
			buf_add_char(&s->line, text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?');
		screen_end_line(s, style);
	}
	return true;
}
