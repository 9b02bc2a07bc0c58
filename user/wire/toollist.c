/* SPDX-License-Identifier: GPL-2.0-only */
/* Filters lists of tools; see toollist.h. */
#include "toollist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"

#define FOLD_BYTES 16

struct toollist {
	struct sieve sieve;
	struct toollist_policy policy;
	struct buf kept;   /* what was read and not yet passed on: of an event, its lines */
	size_t counted;    /* of kept, in *policy.held_bytes */
	size_t line;       /* in kept: where the line being read begins */
	bool has_data;     /* kept holds data lines */
	bool is_behind_cr; /* a LF now belongs to the line end before */
	bool is_replaced;  /* the event that just ended was written anew, its end too */
	bool is_begun;     /* the stream's first line is over: no byte order mark any more */
};

/* --- lists */

/* The text so far, and up to where it was copied. */
struct cut {
	const struct json *json;
	const struct toollist_policy *policy;
	struct buf *out;
	uint32_t copied;
	bool is_cut;
};

static void copy_to(struct cut *c, uint32_t end)
{
	buf_add(c->out, c->json->text + c->copied, end - c->copied);
	c->copied = end;
}

static bool is_folded(const struct json *j, uint32_t key, const char *word)
{
	char folded[FOLD_BYTES];

	return json_fold(j, key, sizeof(folded), folded) && !strcmp(folded, word);
}

/* A tool stays if every reader finds one allowed name in it. What is no object is no tool. */
static bool stays(struct cut *c, uint32_t tool)
{
	const struct json *j = c->json;
	struct buf name;
	bool is_allowed = false;

	if (j->tokens[tool].kind != JSON_OBJECT)
		return true;
	buf_init(&name);
	for (uint32_t k = json_first(j, tool); k != JSON_NONE; k = json_after(j, tool, k)) {
		if (!is_folded(j, k, "name"))
			continue;
		is_allowed = json_is(j, k, "name") && j->tokens[k + 1].kind == JSON_STRING;
		if (!is_allowed)
			break;
		json_add_text(j, k + 1, &name);
	}
	is_allowed = is_allowed && !name.is_failed &&
		c->policy->allows(c->policy->arg, name.data ? name.data : "", name.len);
	buf_done(&name);
	return is_allowed;
}

static void filter_tools(struct cut *c, uint32_t tools)
{
	const struct json *j = c->json;
	bool is_first = true, is_whole = true;

	if (j->tokens[tools].kind != JSON_ARRAY)
		return;
	for (uint32_t t = json_first(j, tools); t != JSON_NONE && is_whole;
		t = json_after(j, tools, t))
		is_whole = stays(c, t);
	if (is_whole)
		return;
	c->is_cut = true;
	copy_to(c, j->tokens[tools].at + 1);
	for (uint32_t t = json_first(j, tools); t != JSON_NONE; t = json_after(j, tools, t)) {
		if (!stays(c, t))
			continue;
		if (!is_first)
			buf_add_char(c->out, ',');
		is_first = false;
		c->copied = j->tokens[t].at;
		copy_to(c, j->tokens[t].end);
	}
	c->copied = j->tokens[tools].end - 1;
}

/* The members of an object that a reader may take for this one. */
static void filter_members(struct cut *c, uint32_t object, const char *word,
	void (*filter)(struct cut *c, uint32_t value))
{
	const struct json *j = c->json;

	if (j->tokens[object].kind != JSON_OBJECT)
		return;
	for (uint32_t k = json_first(j, object); k != JSON_NONE; k = json_after(j, object, k))
		if (is_folded(j, k, word))
			filter(c, k + 1);
}

static void filter_result(struct cut *c, uint32_t result)
{
	filter_members(c, result, "tools", filter_tools);
}

static void filter_messages(struct cut *c)
{
	const struct json *j = c->json;

	if (j->tokens[0].kind != JSON_ARRAY) {
		filter_members(c, 0, "result", filter_result);
		return;
	}
	for (uint32_t m = json_first(j, 0); m != JSON_NONE; m = json_after(j, 0, m))
		filter_members(c, m, "result", filter_result);
}

int toollist_filter(
	const char *text, size_t len_bytes, const struct toollist_policy *p, struct buf *out)
{
	_cleanup_(json_done)
	struct json j;
	struct cut c = {.json = &j, .policy = p, .out = out};
	int r = json_parse(text, len_bytes, &j);

	if (r == -ENOMEM)
		return r;
	/* an event may hold anything, what is no JSON among it */
	if (r < 0)
		return len_bytes && memmem(text, len_bytes, "\"tools\"", 7) ? -EBADMSG : 0;
	filter_messages(&c);
	if (c.is_cut)
		copy_to(&c, (uint32_t)len_bytes);
	return out->is_failed ? -ENOMEM : c.is_cut;
}

/* --- a JSON answer */

static struct toollist *toollist_of(struct sieve *s)
{
	return (struct toollist *)(void *)s; /* sieve is its first member */
}

/* What is kept counts, for all connections together. */
static int count(struct toollist *t)
{
	size_t *held = t->policy.held_bytes;

	if (!held)
		return 0;
	*held += t->kept.cap - t->counted;
	t->counted = t->kept.cap;
	return *held > NEJ_MAX_HELD_BYTES ? -ENOBUFS : 0;
}

static int keep(struct toollist *t, const char *data, size_t len)
{
	if (len > TOOLLIST_MAX_BYTES - t->kept.len)
		return -ENOBUFS;
	buf_add(&t->kept, data, len);
	return t->kept.is_failed ? -ENOMEM : count(t);
}

static int pass_kept(struct toollist *t, struct buf *out)
{
	buf_add(out, t->kept.data, t->kept.len);
	buf_clear(&t->kept);
	return out->is_failed ? -ENOMEM : 0;
}

static int feed_json(struct sieve *s, const char *data, size_t len_bytes, struct buf *out)
{
	(void)out;
	return keep(toollist_of(s), data, len_bytes);
}

static int finish_json(struct sieve *s, struct buf *out)
{
	struct toollist *t = toollist_of(s);
	int r = toollist_filter(t->kept.data, t->kept.len, &t->policy, out);

	return r == 0 ? pass_kept(t, out) : r < 0 ? r : 0;
}

/* --- an event stream */

struct line {
	const char *text;
	size_t len, whole; /* whole: with its end */
};

/* The line at the front; its end may be missing at the end of the stream. */
static struct line line_of(const char *s, size_t len)
{
	size_t n = 0, end;

	while (n < len && s[n] != '\r' && s[n] != '\n')
		n++;
	end = n;
	if (end < len)
		end += s[end] == '\r' && end + 1 < len && s[end + 1] == '\n' ? 2 : 1;
	return (struct line){s, n, end};
}

static bool is_data(struct line *l)
{
	if (l->len < 4 || memcmp(l->text, "data", 4) != 0 || (l->len > 4 && l->text[4] != ':'))
		return false;
	l->text += l->len > 4 ? 5 : 4;
	l->len -= l->len > 4 ? 5 : 4;
	if (l->len && *l->text == ' ') {
		l->text++;
		l->len--;
	}
	return true;
}

/* The data of the event that is kept, as its reader joins it. */
static void join_data(const struct toollist *t, struct buf *data)
{
	const char *s = t->kept.data, *end = s + t->kept.len;
	bool is_first = true;

	while (s < end) {
		struct line l = line_of(s, (size_t)(end - s));

		s += l.whole;
		if (!is_data(&l))
			continue;
		if (!is_first)
			buf_add_char(data, '\n');
		is_first = false;
		buf_add(data, l.text, l.len);
	}
}

/* The same event with other data: its other lines, then the data, then what ended it. */
static void print_event(const struct toollist *t, const struct buf *data, struct buf *out)
{
	const char *s = t->kept.data, *end = s + t->kept.len;
	bool has_blank = false;

	while (s < end) {
		struct line l = line_of(s, (size_t)(end - s)), other = l;

		s += l.whole;
		has_blank |= !l.len;
		if (!l.len || is_data(&other))
			continue;
		buf_add(out, l.text, l.whole);
		if (l.whole == l.len) /* the stream's last */
			buf_add_char(out, '\n');
	}
	for (const char *d = data->data, *last = d + data->len; d < last;) {
		struct line l = line_of(d, (size_t)(last - d));

		buf_add_str(out, "data: ");
		buf_add(out, l.text, l.len);
		buf_add_char(out, '\n');
		d += l.whole;
	}
	if (has_blank)
		buf_add_char(out, '\n');
}

/* An event with data is over. */
static int pass_event(struct toollist *t, struct buf *out)
{
	struct buf data, filtered;
	int r;

	buf_init(&data);
	buf_init(&filtered);
	join_data(t, &data);
	r = data.is_failed ? -ENOMEM : toollist_filter(data.data, data.len, &t->policy, &filtered);
	if (r == 0) {
		r = pass_kept(t, out);
	} else if (r > 0) {
		print_event(t, &filtered, out);
		buf_clear(&t->kept);
		t->is_replaced = true;
		r = out->is_failed ? -ENOMEM : 0;
	}
	buf_done(&data);
	buf_done(&filtered);
	t->has_data = false;
	return r;
}

/* The line that begins at t->line is over. What cannot be part of a list goes on at once. */
static int end_line(struct toollist *t, struct buf *out)
{
	static const char mark[] = "\xef\xbb\xbf";
	struct line l = line_of(t->kept.data + t->line, t->kept.len - t->line);
	bool is_blank;
	int r = 0;

	if (!t->is_begun && l.len >= 3 && !memcmp(l.text, mark, 3)) {
		buf_add(out, mark, 3);
		buf_drop_front(&t->kept, 3);
		l = line_of(t->kept.data, t->kept.len);
	}
	t->is_begun = true;
	t->is_replaced = false;
	is_blank = !l.len;
	t->has_data |= is_data(&l);
	if (!t->has_data)
		r = pass_kept(t, out);
	else if (is_blank)
		r = pass_event(t, out);
	t->line = t->kept.len;
	return r;
}

static int feed_events(struct sieve *s, const char *data, size_t len_bytes, struct buf *out)
{
	struct toollist *t = toollist_of(s);
	const char *end = data + len_bytes;
	int r = 0;

	if (len_bytes && t->is_behind_cr && *data == '\n') {
		r = t->has_data ? keep(t, data, 1) : 0;
		if (!t->has_data && !t->is_replaced)
			buf_add_char(out, '\n');
		t->line = t->kept.len;
		data++;
	}
	if (len_bytes)
		t->is_behind_cr = end[-1] == '\r';
	while (data < end && r == 0) {
		struct line l = line_of(data, (size_t)(end - data));

		r = keep(t, data, l.whole);
		if (r == 0 && l.whole > l.len)
			r = end_line(t, out);
		data += l.whole;
	}
	return r < 0 ? r : out->is_failed ? -ENOMEM : 0;
}

/* Some readers take an event whose blank line never came. */
static int finish_events(struct sieve *s, struct buf *out)
{
	struct toollist *t = toollist_of(s);

	return pass_event(t, out);
}

/* --- either */

static void toollist_free(struct sieve *s)
{
	struct toollist *t = toollist_of(s);

	buf_done(&t->kept);
	count(t);
	free(t);
}

static struct sieve *toollist_new(const struct toollist_policy *p,
	int (*feed)(struct sieve *, const char *, size_t, struct buf *),
	int (*finish)(struct sieve *, struct buf *))
{
	struct toollist *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sieve.feed = feed;
	t->sieve.finish = finish;
	t->sieve.free = toollist_free;
	t->policy = *p;
	return &t->sieve;
}

struct sieve *toollist_new_json(const struct toollist_policy *p)
{
	return toollist_new(p, feed_json, finish_json);
}

struct sieve *toollist_new_events(const struct toollist_policy *p)
{
	return toollist_new(p, feed_events, finish_events);
}
