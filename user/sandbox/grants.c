/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of grants; see grants.h. What a target may be, the policy language says. */
#include "grants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"

/* --- out of a request */

/* Characters that a terminal obeys, or that turn the order of those around them (UAX #9). */
static bool is_obeyed(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
		(c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* The text is UTF-8: jansson has seen to it. */
static bool is_line(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
		uint32_t c = n == 1 ? *s : *s & (0x7fu >> n);

		for (size_t i = 1; i < n; i++)
			c = c << 6 | (s[i] & 0x3fu);
		if (is_obeyed(c))
			return false;
		s += n;
	}
	return true;
}

static bool refuse(char *why, size_t max_bytes, const char *text)
{
	snprintf(why, max_bytes, "%s", text);
	return false;
}

static bool is_sound(
	const char *target, const char *note, json_int_t seconds, char *why, size_t max)
{
	if (!target || !*target)
		return refuse(why, max, "the target is missing");
	if (strlen(target) > OVERLAY_MAX_TARGET_BYTES || !is_line(target))
		return refuse(why, max, "a target is one line of at most 1000 bytes");
	if (note && (strlen(note) > GRANTS_MAX_NOTE_BYTES || !is_line(note)))
		return refuse(why, max, "a note is one line of text, at most 200 bytes");
	if (seconds < 1 || seconds > GRANTS_MAX_SECONDS)
		return refuse(why, max, "a grant is for one second at least and 24 hours at most");
	return true;
}

static const char *text_at(const json_t *request, const char *key)
{
	return json_string_value(json_object_get(request, key));
}

struct grant *grant_parse(const json_t *request, char *why, size_t max_bytes)
{
	const char *target = text_at(request, "target"), *note = text_at(request, "note");
	const char *transport = text_at(request, "transport");
	json_int_t seconds = json_integer_value(json_object_get(request, "seconds"));
	json_int_t uid = json_integer_value(json_object_get(request, "uid"));
	bool is_kernel = transport && strcmp(transport, "kernel") == 0;
	struct grant *g;

	if (!is_sound(target, note, seconds, why, max_bytes))
		return NULL;
	if (transport && !is_kernel && strcmp(transport, "direct") != 0) {
		refuse(why, max_bytes, "a grant's transport is direct or kernel");
		return NULL;
	}
	g = calloc(1, sizeof(*g));
	if (g) {
		g->target = strdup(target);
		g->note = note && *note ? strdup(note) : NULL;
		g->seconds = (uint32_t)seconds;
		g->uid = uid > 0 && uid < UINT32_MAX ? (uint32_t)uid : 0;
		g->is_kernel = is_kernel;
	}
	if (!g || !g->target || (note && *note && !g->note)) {
		refuse(why, max_bytes, "out of memory");
		grant_free(g);
		return NULL;
	}
	return g;
}

void grant_free(struct grant *g)
{
	if (!g)
		return;
	free(g->target);
	free(g->note);
	free(g->text);
	free(g);
}

/* --- the list */

static bool is_taken(const struct grants *g, uint32_t id)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->live[i]->is_ending &&
			g->live[i]->id % NEJ_MAX_GRANTS == id % NEJ_MAX_GRANTS)
			return true;
	return false;
}

/* Ids are never given twice, and those in force differ in their place of the kernel's table. */
static uint32_t next_id(const struct grants *g)
{
	for (uint32_t id = g->last_id + 1; id <= g->last_id + NEJ_MAX_GRANTS; id++)
		if (id <= NEJ_MAX_GRANT_ID && !is_taken(g, id))
			return id;
	return 0;
}

int grant_begin(struct grant *g, const struct grants *all)
{
	g->id = next_id(all);
	g->expiry_ns = clock_boot_ns() + g->seconds * 1000000000ull;
	if (!g->id)
		return -ENOSPC;
	if (asprintf(&g->text, "grant %u: %s", g->id, g->target) < 0) {
		g->text = NULL;
		return -ENOMEM;
	}
	return 0;
}

void grants_add(struct grants *g, struct grant *grant)
{
	memmove(g->live + 1, g->live, g->n * sizeof(g->live[0]));
	g->live[0] = grant;
	g->n++;
	g->last_id = grant->id;
}

struct grant *grants_end_one(struct grants *g)
{
	struct grant *grant;
	size_t i = 0;

	while (i < g->n && !g->live[i]->is_ending)
		i++;
	if (i == g->n)
		return NULL;
	grant = g->live[i];
	g->n--;
	memmove(g->live + i, g->live + i + 1, (g->n - i) * sizeof(g->live[0]));
	grant_free(g->ended[g->next_ended]);
	g->ended[g->next_ended] = grant;
	g->next_ended = (g->next_ended + 1) % NEJ_MAX_GRANTS;
	return grant;
}

void grants_done(struct grants *g)
{
	for (size_t i = 0; i < g->n; i++)
		grant_free(g->live[i]);
	for (size_t i = 0; i < NEJ_MAX_GRANTS; i++)
		grant_free(g->ended[i]);
	*g = (struct grants){0};
}

uint64_t grants_first_end(const struct grants *g)
{
	uint64_t first = 0;

	for (size_t i = 0; i < g->n; i++)
		if (!first || g->live[i]->expiry_ns < first)
			first = g->live[i]->expiry_ns;
	return first;
}

/* --- as rules */

struct listing {
	struct policy_grant rows[NEJ_MAX_GRANTS + 1];
	size_t n;
};

static void list(struct listing *l, const struct grant *g, bool is_kernel)
{
	if (!g || g->is_ending || g->is_kernel != is_kernel)
		return;
	l->rows[l->n++] = (struct policy_grant){.id = g->id,
		.expiry_ns = g->expiry_ns,
		.target = g->target,
		.note = g->note,
		.is_kernel = is_kernel};
}

/* The kernel's come first: the kernel has let through what they allow before anybody else is asked.
 * Within both the newest is tried first. */
static void list_all(struct listing *l, const struct grants *g, const struct grant *with)
{
	for (int is_kernel = 1; is_kernel >= 0; is_kernel--) {
		list(l, with, is_kernel);
		for (size_t i = 0; i < g->n; i++)
			list(l, g->live[i], is_kernel);
	}
}

/* A warning about another grant was given when that one was made. */
static void keep_own(struct err_list *errs, unsigned int line)
{
	size_t n = 0;

	for (size_t i = 0; i < errs->n_items; i++)
		if (!errs->items[i].is_warning || errs->items[i].line == line)
			errs->items[n++] = errs->items[i];
	errs->n_items = n;
}

int grants_compile(const struct grants *g, const struct grant *with, struct err_list *errs,
	struct policy **ret)
{
	struct listing l = {.n = 0};
	unsigned int line = 0;
	int r;

	list_all(&l, g, with);
	if (!l.n) {
		*ret = NULL;
		return 0;
	}
	for (size_t i = 0; with && i < l.n; i++)
		if (l.rows[i].id == with->id)
			line = (unsigned int)i + 1;
	r = overlay_load(l.rows, l.n, errs, ret);
	keep_own(errs, line);
	return r;
}

bool grants_text(
	const struct grants *g, uint32_t rule, const char **ret_text, const char **ret_note)
{
	uint32_t id = rule & ~NEJ_RULE_GRANT;
	const struct grant *found = NULL;

	if (!policy_is_grant(rule))
		return false;
	for (size_t i = 0; i < g->n; i++)
		if (g->live[i]->id == id)
			found = g->live[i];
	for (size_t i = 0; !found && i < NEJ_MAX_GRANTS; i++)
		if (g->ended[i] && g->ended[i]->id == id)
			found = g->ended[i];
	if (!found)
		return false;
	*ret_text = found->text;
	*ret_note = found->note;
	return true;
}

json_t *grants_print(const struct grants *g)
{
	uint64_t now_ns = clock_boot_ns();
	json_t *all = json_array();

	for (size_t i = 0; i < g->n; i++) {
		const struct grant *x = g->live[i];
		uint64_t left_ns = x->expiry_ns > now_ns ? x->expiry_ns - now_ns : 0;

		json_array_append_new(all,
			json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:s?}", "id", (json_int_t)x->id,
				"target", x->target, "transport",
				x->is_kernel ? "kernel" : "direct", "uid", (json_int_t)x->uid,
				"seconds", (json_int_t)x->seconds, "remaining_s",
				(json_int_t)((left_ns + 999999999) / 1000000000), "note", x->note));
	}
	return all;
}
