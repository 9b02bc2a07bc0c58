/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries that do not stand in a list of YAML: words of command lines and plain lists, words within
 * one scalar, pieces between commas. Each becomes a node with its own place; see import_formats.h.
 */
#include "import_formats.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || !c;
}

/* --- words of a text, as a shell reads them */

void import_words_init(struct import *im, struct import_words *ret)
{
	*ret = (struct import_words){.at = im->text,
		.end = im->text + im->len,
		.line = 1,
		.column = 1,
		.is_first = true};
}

static void step(struct import_words *w)
{
	if (*w->at == '\n') {
		w->line++;
		w->column = 0;
	}
	w->column++;
	w->at++;
}

/* A backslash before a line's end joins the lines. */
static bool is_joint(const struct import_words *w)
{
	const char *at = w->at + 1;

	if (*w->at != '\\')
		return false;
	if (at < w->end && *at == '\r')
		at++;
	return at < w->end && *at == '\n';
}

static void skip_blanks(struct import_words *w)
{
	while (w->at < w->end) {
		if (is_joint(w)) {
			while (*w->at != '\n')
				step(w);
			step(w);
		} else if (*w->at == '#') {
			while (w->at < w->end && *w->at != '\n')
				step(w);
		} else if (is_blank(*w->at)) {
			w->is_first = w->is_first || *w->at == '\n';
			step(w);
		} else {
			return;
		}
	}
}

static void take_quoted(struct import_words *w, struct buf *b)
{
	char quote = *w->at;

	for (step(w); w->at < w->end && *w->at != quote; step(w))
		buf_add_char(b, *w->at ? *w->at : '?');
	if (w->at < w->end)
		step(w);
}

bool import_next_word(struct import *im, struct import_words *w, struct yaml_node *ret)
{
	struct buf b;

	skip_blanks(w);
	if (w->at == w->end)
		return false;
	*ret = (struct yaml_node){.kind = YAML_SCALAR, .line = w->line, .column = w->column};
	ret->is_plain = w->is_first;
	w->is_first = false;
	buf_init(&b);
	buf_add(&b, "", 0);
	while (w->at < w->end && !is_blank(*w->at) && !is_joint(w)) {
		if (*w->at == '"' || *w->at == '\'') {
			take_quoted(w, &b);
			continue;
		}
		buf_add_char(&b, *w->at);
		step(w);
	}
	ret->text = b.is_failed ? NULL : arena_copy(&im->arena, b.data, b.len);
	ret->len = ret->text ? b.len : 0;
	if (!ret->text)
		im->arena.is_failed = true;
	buf_done(&b);
	return ret->text != NULL;
}

/* --- words of one scalar */

static const char *place_of(const struct import *im, const struct yaml_node *node)
{
	const char *at = im->text, *end = im->text + im->len;

	for (unsigned int line = 1; line < node->line; line++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			return end;
		at++;
	}
	return at;
}

void import_each_word(struct import *im, const struct yaml_node *scalar,
	void (*take)(struct import *im, const struct yaml_node *word, void *arg), void *arg)
{
	const char *at = place_of(im, scalar), *line_begin = at, *end = im->text + im->len;
	const char *s = scalar->text;
	unsigned int line = scalar->line;

	while (*s) {
		struct yaml_node word = *scalar;
		const char *found;
		size_t n = 0;

		while (*s && is_blank(*s))
			s++;
		while (s[n] && !is_blank(s[n]))
			n++;
		if (!n)
			return;
		/* Where the text has it; a word that escapes wrote stays where the scalar begins. */
		found = memmem(at, (size_t)(end - at), s, n);
		for (; found && at < found; at++)
			if (*at == '\n') {
				line++;
				line_begin = at + 1;
			}
		word.line = found ? line : scalar->line;
		word.column = found ? (unsigned int)(found - line_begin) + 1 : scalar->column;
		word.text = arena_copy(&im->arena, s, n);
		word.len = n;
		if (!word.text)
			return;
		take(im, &word, arg);
		s += n;
		at = found ? found + n : at;
	}
}

/* --- pieces between commas */

void import_each_piece(struct import *im, const struct yaml_node *list,
	void (*take)(struct import *im, const struct yaml_node *piece, void *arg), void *arg)
{
	const char *s = list->text;

	while (*s) {
		struct yaml_node piece = *list;
		size_t n, skip = strspn(s, ", \t\r\n");

		s += skip;
		n = strcspn(s, ",\r\n");
		while (n && is_blank(s[n - 1]))
			n--;
		if (!n)
			return;
		piece.column = list->column + (unsigned int)(s - list->text);
		piece.text = arena_copy(&im->arena, s, n);
		piece.len = n;
		if (!piece.text)
			return;
		take(im, &piece, arg);
		s += n;
	}
}
