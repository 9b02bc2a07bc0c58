/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draws the frame; see watch_view.h. A header, the rows, at the bottom what can be done with the selected one
 * and the keys. A question takes as many lines as it needs, so that it is read whole or not asked.
 */
#include "watch_view.h"

#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/duration.h"

static const char *const help[] = {
	"Denied attempts, folded by where they went, and the grants in force.",
	"",
	"up down  j k     another row          g   grant what it asked for, for a while",
	"page up, down    a page of rows       r   revoke the grant of this row",
	"home end         first, last row      i   ignore it here; I: show all again",
	"s                another order        h   halt the sandbox, or let it go on",
	"q  Ctrl-C        quit                 ?   this, and back",
	"",
	"Before something is granted you see the target that will be: exactly that and",
	"nothing else is opened. Tab there takes the whole host instead of one request.",
};

static const char *const orders[WATCH_ORDERS] = {
	[WATCH_BY_FIRST] = "new ones first",
	[WATCH_BY_LAST] = "newest attempt first",
	[WATCH_BY_COUNT] = "most first",
};

static bool is_enforcing(const struct watch_scene *scene)
{
	return strcmp(scene->state, "enforcing") == 0;
}

static void draw_header(
	struct screen *s, const struct watch_list *l, const struct watch_scene *scene)
{
	screen_printf(s, "%s: %s", scene->name, scene->state);
	if (scene->policy[0])
		screen_printf(s, "  policy %s, generation %llu", scene->policy,
			(unsigned long long)scene->generation);
	screen_printf(s, "  %llu denied", (unsigned long long)l->n_denied);
	if (l->n_ignored)
		screen_printf(s, "  %zu ignored", l->n_ignored);
	if (l->n_dropped)
		screen_printf(s, "  %llu too old to show", (unsigned long long)l->n_dropped);
	screen_printf(s, "  %s", orders[l->order]);
	screen_end_line(s, is_enforcing(scene) ? SCREEN_BOLD : SCREEN_ALARM);
}

/* --- rows */

static void draw_grant(
	struct screen *s, const struct watch_row *row, const struct watch_scene *scene)
{
	uint64_t left_ms = row->expiry_ms > scene->now_ms ? row->expiry_ms - scene->now_ms : 0;
	char left[DURATION_TEXT_BYTES];

	duration_print((left_ms + 999) / 1000, left);
	screen_printf(s, "grant %u", row->grant);
	screen_pad(s, 10);
	screen_add(s, left);
	screen_pad(s, 20);
	screen_add(s, row->target);
	screen_printf(s, "  by uid %u", row->uid);
	if (row->reason) {
		screen_add(s, "  # ");
		screen_add(s, row->reason);
	}
}

static void draw_denied(struct screen *s, const struct watch_row *row)
{
	char count[24];

	snprintf(count, sizeof(count), "%llux", (unsigned long long)row->count);
	screen_add(s, row->time[0] ? row->time : "--:--:--");
	screen_printf(s, " %7s ", count);
	screen_add(s, row->target);
	if (row->request) {
		screen_add(s, " ");
		screen_add(s, row->request);
	}
	screen_pad(s, 58);
	screen_add(s, row->reason);
	if (row->process) {
		screen_add(s, "  ");
		screen_add(s, row->process);
	}
}

static void draw_rows(
	struct screen *s, struct watch_list *l, struct watch_scene *scene, unsigned int height)
{
	struct watch_row *view[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];
	size_t n = watch_list_view(l, view, ARRAY_SIZE(view)), place = 0;
	const struct watch_row *selected = watch_list_selected(l, &place);

	if (!height)
		return;
	if (place < scene->top)
		scene->top = place;
	if (place >= scene->top + height)
		scene->top = place - height + 1;
	if (scene->top && scene->top + height > n)
		scene->top = n > height ? n - height : 0;
	for (unsigned int i = 0; i < height; i++) {
		const struct watch_row *row = scene->top + i < n ? view[scene->top + i] : NULL;

		if (row && row->grant)
			draw_grant(s, row, scene);
		else if (row)
			draw_denied(s, row);
		else if (!i)
			screen_add(s, "nothing was denied yet");
		screen_end_line(s,
			row && row == selected      ? SCREEN_SELECTED
				: row && row->grant ? SCREEN_BOLD
						    : SCREEN_PLAIN);
	}
}

/* --- the bottom */

static void draw_about(struct screen *s, struct watch_list *l, const struct watch_scene *scene)
{
	size_t place;
	const struct watch_row *row = watch_list_selected(l, &place);

	if (scene->message[0])
		screen_add(s, scene->message);
	else if (row && row->grant)
		screen_printf(s, "r revokes grant %u", row->grant);
	else if (row && row->wanted.narrow[0])
		screen_printf(s, "g grants %s", row->wanted.narrow);
	else if (row)
		screen_printf(s, "no grant would help: %s", row->wanted.why);
	screen_end_line(s, scene->message[0] ? SCREEN_BOLD : SCREEN_PLAIN);
}

static void print_question(const struct watch_scene *scene, struct buf *b)
{
	if (scene->mode == WATCH_HALT) {
		buf_printf(b,
			strcmp(scene->state, "halted") == 0
				? "Let %s go on under its policy? y: yes, other keys: no"
				: "Halt %s, and end all its connections? y: yes, other keys: no",
			scene->name);
		return;
	}
	buf_printf(b, "Grant  %s  for %s_  Enter: yes  Esc: no  0-9hms: how long", scene->target,
		scene->duration);
	if (scene->wider)
		buf_printf(b, "  Tab: %s", scene->wider);
	if (scene->message[0])
		buf_printf(b, "  (%s)", scene->message);
}

static unsigned int lines_of(const struct buf *text, unsigned int columns)
{
	return (unsigned int)((text->len + columns - 1) / columns);
}

static bool draw_question(struct screen *s, struct watch_list *l, struct watch_scene *scene)
{
	_cleanup_(buf_done)
	struct buf text;
	unsigned int n;

	buf_init(&text);
	print_question(scene, &text);
	n = lines_of(&text, s->columns);
	if (text.is_failed || n >= s->rows) {
		screen_add(s, "Esc: the terminal is too small to ask");
		screen_end_line(s, SCREEN_ALARM);
		return false;
	}
	draw_rows(s, l, scene, s->rows - s->row - n);
	return screen_add_whole(s, text.data, SCREEN_ALARM);
}

static void draw_help(struct screen *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(help); i++) {
		screen_add(s, help[i]);
		screen_end_line(s, SCREEN_PLAIN);
	}
}

bool watch_view_draw(struct screen *s, struct watch_list *l, struct watch_scene *scene,
	unsigned int columns, unsigned int rows)
{
	bool is_whole = true;

	screen_begin(s, columns, rows);
	draw_header(s, l, scene);
	if (scene->mode == WATCH_HELP) {
		draw_help(s);
	} else if (scene->mode != WATCH_LIST) {
		is_whole = draw_question(s, l, scene);
	} else {
		unsigned int bottom = s->rows >= 5 ? 2 : s->rows >= 3 ? 1 : 0;

		draw_rows(s, l, scene, s->rows - 1 - bottom);
		if (bottom)
			draw_about(s, l, scene);
		if (bottom > 1) {
			screen_add(
				s, "g grant  i ignore  r revoke  h halt  s order  ? help  q quit");
			screen_end_line(s, SCREEN_DIM);
		}
	}
	screen_end(s);
	return is_whole;
}
