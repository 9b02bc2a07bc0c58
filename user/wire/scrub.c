/* SPDX-License-Identifier: GPL-2.0-only */
/* Responses without credentials; see scrub.h. */
#include "scrub.h"

#include <errno.h>
#include <string.h>

#include "inflate.h"

static struct http1_text trim(struct http1_text t)
{
	while (t.len && strchr(" \t", *t.ptr)) {
		t.ptr++;
		t.len--;
	}
	while (t.len && strchr(" \t", t.ptr[t.len - 1]))
		t.len--;
	return t;
}

/* The next element of a comma list, blanks off; false at the end. */
static bool next_element(struct http1_text *list, struct http1_text *ret)
{
	const char *comma;
	size_t n;

	if (!list->ptr)
		return false;
	comma = memchr(list->ptr, ',', list->len);
	n = comma ? (size_t)(comma - list->ptr) : list->len;
	*ret = trim((struct http1_text){list->ptr, n});
	list->ptr = comma ? comma + 1 : NULL;
	list->len -= comma ? n + 1 : n;
	return true;
}

/* --- what the client would take */

enum { TAKES_GZIP = 1, TAKES_DEFLATE = 2 };

/* `;q=0`, `; q=0.000` and the like: not this one. */
static bool is_declined(struct http1_text parameters)
{
	const char *q = memmem(parameters.ptr, parameters.len, "q=", 2);
	const char *end = parameters.ptr + parameters.len;

	if (!q)
		q = memmem(parameters.ptr, parameters.len, "Q=", 2);
	if (!q)
		return false;
	for (q += 2; q < end; q++)
		if (*q >= '1' && *q <= '9')
			return false;
	return true;
}

static unsigned taken_of(struct http1_text element)
{
	const char *semicolon = memchr(element.ptr, ';', element.len);
	struct http1_text name = element;

	if (semicolon) {
		name.len = (size_t)(semicolon - element.ptr);
		if (is_declined((struct http1_text){semicolon, element.len - name.len}))
			return 0;
		name = trim(name);
	}
	if (http1_text_is(name, "gzip") || http1_text_is(name, "x-gzip"))
		return TAKES_GZIP;
	return http1_text_is(name, "deflate") ? TAKES_DEFLATE : 0;
}

const char *scrub_accept_encoding(const struct http1_head *request)
{
	static const char *const words[] = {"identity", "gzip", "deflate", "gzip, deflate"};
	bool is_part = false;
	unsigned taken = 0;

	for (size_t i = 0; i < request->n_fields; i++) {
		const struct http1_field *f = &request->fields[i];
		struct http1_text list = f->value, element;

		is_part |= http1_text_is(f->name, "range");
		if (http1_text_is(f->name, "accept-encoding"))
			while (next_element(&list, &element))
				taken |= taken_of(element);
	}
	/* part of a compressed body cannot be looked into */
	return words[is_part ? 0 : taken];
}

/* --- heads */

/* Replaced texts are put one behind the other; where they stand is known when scratch has stopped
 * moving. */
struct placed {
	struct http1_text *text;
	size_t at, len;
};

static int scrub_one(const struct swap_rule *rule, struct http1_text *text, struct buf *scratch,
	struct placed *ret)
{
	size_t at = scratch->len;
	int n;

	if (!text->len)
		return 0;
	n = swap_text(rule, text->ptr, text->len, scratch);
	if (n <= 0)
		scratch->len = at;
	else
		*ret = (struct placed){text, at, scratch->len - at};
	return n;
}

int scrub_head(const struct swap_rule *rule, struct http1_head *head, struct buf *scratch)
{
	struct placed placed[2 * HTTP1_MAX_FIELDS + 1];
	size_t n_placed = 0;
	int n = 0;

	for (size_t i = 0; i < 2 * head->n_fields + 1; i++) {
		struct http1_text *text = i % 2
			? &head->fields[i / 2].name
			: (i / 2 < head->n_fields ? &head->fields[i / 2].value : &head->phrase);
		int r = scrub_one(rule, text, scratch, &placed[n_placed]);

		if (r < 0)
			return r;
		n_placed += r > 0;
		n += r;
	}
	for (size_t i = 0; i < n_placed; i++)
		*placed[i].text = (struct http1_text){scratch->data + placed[i].at, placed[i].len};
	return n;
}

/* --- bodies */

/* The one coding of a Content-Encoding field: 1 and which, 0 none, or negative. */
static int coding_of(struct http1_text list, enum inflate_coding *ret)
{
	struct http1_text element;
	int n = 0;

	while (next_element(&list, &element)) {
		if (!element.len || http1_text_is(element, "identity"))
			continue;
		if (n++)
			return -EPROTONOSUPPORT;
		if (http1_text_is(element, "gzip") || http1_text_is(element, "x-gzip"))
			*ret = INFLATE_GZIP;
		else if (http1_text_is(element, "deflate"))
			*ret = INFLATE_DEFLATE;
		else
			return -EPROTONOSUPPORT;
	}
	return n;
}

int scrub_decoder(struct http1_head *response, struct sieve **ret)
{
	enum inflate_coding coding = INFLATE_GZIP;
	int n_codings = 0;

	for (size_t i = 0; i < response->n_fields; i++) {
		struct http1_field *f = &response->fields[i];
		int n;

		if (!http1_text_is(f->name, "content-encoding"))
			continue;
		n = coding_of(f->value, &coding);
		if (n < 0 || n_codings + n > 1)
			return -EPROTONOSUPPORT;
		n_codings += n;
		f->is_hop = true;
	}
	*ret = NULL;
	if (!n_codings)
		return 0;
	if (response->status == 206)
		return -EBADMSG;
	return inflate_sieve_new(coding, ret);
}
