/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credentials of one request; see inject.h. A placeholder is looked for in every form; only the form
 * that a client following the rules would send is replaced, every other one is a leak.
 */
#include "inject.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"
#include "../wire/base64.h"
#include "reflect.h"

#define WHOLE_BYTES (64u << 10)
#define MAX_SWAPPED_BYTES (1u << 20) /* of a head or a piece of a body: values may be long */

/* Where in a request something stands. */
struct place {
	const char *name; /* for people, and the word of `in` */
	enum swap_context context;
	uint8_t in;     /* enum policy_secret_in; 0: nowhere a credential may be */
	unsigned forms; /* bits of the forms that are replaced */
};

#define FORM(form) (1u << NEEDLE_##form)

struct inject {
	struct secret_book *book;
	uint64_t covered; /* secrets whose `for` names the host */
	uint64_t injected;
	struct reflect reflect;
	uint64_t expected; /* may still be injected: in a body that is being sent */
	uint64_t told_injected, told_reflected;
	struct place place; /* of what is being looked at */
	bool is_tls;
	bool is_scrubbed;
	char host[HOST_MAX_BYTES + 1];
	char note[160];
};

/* --- verdicts */

static int leak(struct inject *in, const struct secret *s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int leak(struct inject *in, const struct secret *s, const char *fmt, ...)
{
	int n = snprintf(in->note, sizeof(in->note),
		"the placeholder of %.40s stands in the %s: ", s->name, in->place.name);
	va_list args;

	va_start(args, fmt);
	if (n > 0 && (size_t)n < sizeof(in->note))
		vsnprintf(in->note + n, sizeof(in->note) - (size_t)n, fmt, args);
	va_end(args);
	return INJECT_LEAK;
}

static int missing(struct inject *in, const struct secret *s)
{
	snprintf(in->note, sizeof(in->note), "the credential %.40s has no value now", s->name);
	return INJECT_MISSING;
}

struct refusal inject_refusal(const struct inject *in, int result)
{
	struct refusal why = {.reason = NEJ_REASON_INTERNAL, .rule = POLICY_NO_RULE};

	if (result == INJECT_LEAK)
		why.reason = NEJ_REASON_PLACEHOLDER_LEAK;
	else if (result == INJECT_MISSING)
		why.reason = NEJ_REASON_SECRET_UNAVAILABLE;
	else if (result == INJECT_FRAMING)
		why.reason = NEJ_REASON_FRAMING;
	else
		return why;
	why.detail = in->note;
	return why;
}

static enum swap_context context_of(const struct place *p, enum needle_form form)
{
	if (form == NEEDLE_PERCENT)
		return SWAP_URL;
	return form == NEEDLE_JSON ? SWAP_JSON : p->context;
}

/* A placeholder was found in the request: its value, or why it must not go there. */
static int on_placeholder(void *arg, const struct needle_hit *hit, struct buf *out)
{
	struct inject *in = arg;
	const struct secret *s = secret_at(in->book, hit->id);
	const struct place *p = &in->place;
	uint64_t bit = 1ull << hit->id;

	if (!(in->covered & bit))
		return leak(in, s, "it is not for %.60s", in->host);
	if (!in->is_tls)
		return leak(in, s, "it is only sent over TLS");
	if (s->is_aws)
		return leak(in, s, "it signs requests and is never sent");
	if (!(s->in & p->in))
		return leak(in, s, "`in` does not name that place");
	if (hit->is_altered || !(p->forms & 1u << hit->form))
		return leak(in, s, "in a form that cannot be replaced");
	if (!s->value.len)
		return missing(in, s);
	if (out->len > MAX_SWAPPED_BYTES) {
		snprintf(in->note, sizeof(in->note), "with its credentials it would be too large");
		return INJECT_FRAMING;
	}
	swap_print(context_of(p, (enum needle_form)hit->form), s->value.ptr, s->value.len, out);
	in->injected |= bit;
	return 0;
}

static struct swap_rule request_rule(struct inject *in)
{
	return (struct swap_rule){
		.needles = secret_placeholders(in->book), .on_hit = on_placeholder, .arg = in};
}

/* --- beginning */

int inject_new(struct secret_store *store, const struct inject_ask *ask, struct inject **ret)
{
	uint16_t covered[NEEDLE_MAX];
	struct inject *in;
	size_t n;

	*ret = NULL;
	if (!policy_secret_count(ask->policy))
		return 0;
	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->book = secret_take(store, ask->policy);
	in->reflect.book = in->book;
	in->is_tls = ask->is_tls;
	n = policy_secrets_for(ask->policy, ask->host, ask->port, covered, ARRAY_SIZE(covered));
	for (size_t i = 0; i < n; i++)
		in->covered |= 1ull << covered[i];
	memcpy(in->host, ask->host->name, ask->host->len + 1);
	*ret = in;
	return 0;
}

void inject_free(struct inject *in)
{
	if (!in)
		return;
	secret_drop(in->book);
	free(in);
}

/* --- the head */

struct placed {
	struct http1_text *text;
	size_t at, len;
};

/* Looks at one text and appends what it becomes. *ret->text NULL: it stays as it is. */
static int swap_one(struct inject *in, struct http1_text *text, const struct place *place,
	struct buf *scratch, struct placed *ret)
{
	const struct swap_rule rule = request_rule(in);
	size_t at = scratch->len;
	int n;

	*ret = (struct placed){0};
	in->place = *place;
	n = swap_text(&rule, text->ptr, text->len, scratch);
	if (n > 0)
		*ret = (struct placed){text, at, scratch->len - at};
	else
		scratch->len = at;
	return n;
}

/* `Basic` credentials: the text in base64, NULL if it is another scheme. */
static const char *basic_text(struct http1_text value, size_t *ret_len)
{
	const char *p = value.ptr, *end = value.ptr + value.len;

	if (value.len < 6 || strncasecmp(p, "basic ", 6))
		return NULL;
	for (p += 6; p < end && *p == ' ';)
		p++;
	*ret_len = (size_t)(end - p);
	return p;
}

/* Decoded, replaced, encoded again (RFC 7617). As swap_one; 0 when there is nothing in it. */
static int swap_basic(
	struct inject *in, struct http1_text *value, struct buf *scratch, struct placed *ret)
{
	static const struct place place = {
		"Authorization field", SWAP_PLAIN, POLICY_SECRET_HEADERS, FORM(RAW)};
	struct buf plain = {0}, swapped = {0};
	const struct swap_rule rule = request_rule(in);
	size_t len, n_plain, at = scratch->len;
	const char *text = basic_text(*value, &len);
	int n = 0;

	*ret = (struct placed){0};
	if (!text || buf_reserve(&plain, len) < 0)
		return text ? -ENOMEM : 0;
	in->place = place;
	if (base64_decode(text, len, plain.data, &n_plain) == 0)
		n = swap_text(&rule, plain.data, n_plain, &swapped);
	if (n > 0) {
		buf_add(scratch, value->ptr, (size_t)(text - value->ptr));
		base64_encode(swapped.data, swapped.len, scratch);
		*ret = (struct placed){value, at, scratch->len - at};
	}
	buf_wipe(&plain);
	buf_wipe(&swapped);
	return scratch->is_failed ? -ENOMEM : n;
}

static bool is_authorization(const struct http1_field *f)
{
	return !f->is_hop && http1_text_is(f->name, "authorization");
}

static int swap_field(
	struct inject *in, struct http1_field *f, struct buf *scratch, struct placed *ret)
{
	static const struct place name = {.name = "name of a header field"};
	static const struct place value = {"header", SWAP_PLAIN, POLICY_SECRET_HEADERS, FORM(RAW)};
	int n = swap_one(in, &f->name, &name, scratch, ret);

	if (n == 0 && is_authorization(f))
		n = swap_basic(in, &f->value, scratch, ret);
	return n ? n : swap_one(in, &f->value, &value, scratch, ret);
}

/* The target's path and query, of which `in: [query]` opens both. */
static int swap_path(
	struct inject *in, struct http1_text *path, struct buf *scratch, struct placed *ret)
{
	static const struct place place = {
		"path or query", SWAP_URL, POLICY_SECRET_QUERY, FORM(RAW) | FORM(PERCENT)};

	return swap_one(in, path, &place, scratch, ret);
}

static int look_at_host(struct inject *in)
{
	static const struct place place = {.name = "host name"};
	struct needle_hit hit;

	in->place = place;
	if (!needles_find(secret_placeholders(in->book), in->host, strlen(in->host), 0, &hit))
		return 0;
	return leak(in, secret_at(in->book, hit.id), "a name is not for credentials");
}

/* What of the response a sieve can read. */
static int limit_encodings(struct http1_head *head)
{
	static const char name[] = "Accept-Encoding";
	const char *words = scrub_accept_encoding(head);
	struct http1_text value = {words, strlen(words)};
	bool is_said = false;

	for (size_t i = 0; i < head->n_fields; i++) {
		struct http1_field *f = &head->fields[i];

		/* of the messages inside a stream of gRPC or Connect */
		if (http1_text_is(f->name, "grpc-accept-encoding") ||
			http1_text_is(f->name, "connect-accept-encoding"))
			f->value = (struct http1_text){"identity", 8};
		if (!http1_text_is(f->name, "accept-encoding"))
			continue;
		f->is_hop = is_said;
		f->value = value;
		is_said = true;
	}
	if (is_said)
		return 0;
	if (head->n_fields == HTTP1_MAX_FIELDS)
		return INJECT_FRAMING;
	/* without the field the server might choose any (RFC 9110 section 12.5.3) */
	head->fields[head->n_fields++] =
		(struct http1_field){.name = {name, sizeof(name) - 1}, .value = value};
	return 0;
}

/* What the found placeholders ask of the head as a whole. */
static int check_whole(struct inject *in, struct http1_head *head)
{
	size_t n = 0;

	for (size_t i = 0; i < head->n_fields; i++)
		n += is_authorization(&head->fields[i]);
	if (n > 1) {
		snprintf(in->note, sizeof(in->note),
			"one Authorization field may stand beside a credential, not %zu", n);
		return INJECT_FRAMING;
	}
	if (http1_text_is(head->method, "trace")) {
		snprintf(in->note, sizeof(in->note), "TRACE would give the credentials back");
		return INJECT_LEAK;
	}
	if (!in->is_scrubbed)
		return 0;
	snprintf(in->note, sizeof(in->note), "too many header fields");
	return limit_encodings(head);
}

/* Those that may be put into this request's body. */
static uint64_t body_secrets(const struct inject *in)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < secret_count(in->book); i++)
		if (secret_at(in->book, i)->in & POLICY_SECRET_BODY)
			bits |= 1ull << i;
	return in->is_tls ? bits & in->covered : 0;
}

static int swap_head(
	struct inject *in, struct http1_head *head, struct http1_text *path, struct buf *scratch)
{
	struct placed placed[HTTP1_MAX_FIELDS + 1];
	size_t n_placed = 0;
	int n = swap_path(in, path, scratch, &placed[0]);

	n_placed += n > 0;
	for (size_t i = 0; n >= 0 && i < head->n_fields; i++) {
		if (head->fields[i].is_hop)
			continue;
		n = swap_field(in, &head->fields[i], scratch, &placed[n_placed]);
		n_placed += n > 0;
	}
	/* scratch has stopped moving */
	for (size_t i = 0; n >= 0 && i < n_placed; i++)
		*placed[i].text = (struct http1_text){scratch->data + placed[i].at, placed[i].len};
	return n < 0 ? n : 0;
}

static int look_at_head(
	struct inject *in, struct http1_head *head, struct http1_text *path, struct buf *scratch)
{
	int r;

	if (!in->book) {
		/* values of another policy, or none that could be read: no placeholder is known */
		snprintf(in->note, sizeof(in->note), "the credentials are being replaced");
		return INJECT_MISSING;
	}
	r = look_at_host(in);
	if (r == 0)
		r = swap_head(in, head, path, scratch);
	if (r < 0)
		return r;
	in->is_scrubbed = in->covered && in->is_tls;
	return in->covered ? check_whole(in, head) : 0;
}

int inject_head(
	struct inject *in, struct http1_head *head, struct http1_text *path, struct buf *scratch)
{
	int r = in ? look_at_head(in, head, path, scratch) : 0;

	if (r < 0)
		in->injected = 0; /* nothing goes up */
	return r;
}

/* --- the body */

static bool has_type(const struct http1_head *head, const char *part)
{
	for (size_t i = 0; i < head->n_fields; i++) {
		const struct http1_field *f = &head->fields[i];

		if (http1_text_is(f->name, "content-type"))
			for (size_t at = 0; at + strlen(part) <= f->value.len; at++)
				if (!strncasecmp(f->value.ptr + at, part, strlen(part)))
					return true;
	}
	return false;
}

/* A trailer is no place for a credential. */
static void on_trailers(void *arg)
{
	static const struct place place = {.name = "trailer"};
	struct inject *in = arg;

	in->place = place;
}

static struct swap_rule body_rule(struct inject *in, const struct http1_head *head)
{
	struct swap_rule rule = request_rule(in);

	in->place = (struct place){
		.name = "body",
		.context = SWAP_PLAIN,
		.in = POLICY_SECRET_BODY,
		.forms = FORM(RAW) | FORM(PERCENT) | FORM(JSON),
	};
	if (has_type(head, "json"))
		in->place.context = SWAP_JSON;
	else if (has_type(head, "application/x-www-form-urlencoded"))
		in->place.context = SWAP_URL;
	rule.on_trailers = on_trailers;
	return rule;
}

int inject_body(
	struct inject *in, const struct http1_head *head, struct sieve **ret, bool *ret_is_swap)
{
	struct swap_rule rule;

	*ret = NULL;
	*ret_is_swap = false;
	if (!in || !in->book)
		return 0;
	in->expected = body_secrets(in);
	*ret_is_swap = in->expected != 0;
	rule = body_rule(in, head);
	rule.hold_bytes = *ret_is_swap ? 1 : 0;
	return swap_sieve_new(&rule, NULL, ret);
}

size_t inject_wants_whole(const struct inject *in, const struct http1_head *head)
{
	if (!in || !in->book || head->body != HTTP1_BODY_LENGTH || head->length > WHOLE_BYTES)
		return 0;
	return WHOLE_BYTES;
}

int inject_whole_body(struct inject *in, const struct http1_head *head, struct buf *body)
{
	struct swap_rule rule;
	struct buf out = {0};
	int n;

	if (!in || !in->book || !body->len)
		return 0;
	rule = body_rule(in, head);
	n = swap_text(&rule, body->data, body->len, &out);
	if (n <= 0) {
		buf_wipe(&out);
		return n;
	}
	buf_wipe(body);
	*body = out;
	return 0;
}

/* --- the response */

bool inject_is_scrubbed(const struct inject *in)
{
	return in && in->is_scrubbed;
}

int inject_response_head(struct inject *in, struct http1_head *head, struct buf *scratch)
{
	return inject_is_scrubbed(in) ? reflect_head(&in->reflect, head, scratch) : 0;
}

int inject_response_body(
	struct inject *in, struct http1_head *head, struct sieve **ret, bool *ret_is_as_long)
{
	*ret = NULL;
	*ret_is_as_long = true;
	return inject_is_scrubbed(in) ? reflect_body(&in->reflect, head, ret, ret_is_as_long) : 0;
}

/* --- for others */

const struct secret *inject_next_signing(const struct inject *in, size_t *i)
{
	if (!in || !in->book || !in->is_tls)
		return NULL;
	for (; *i < secret_count(in->book); ++*i) {
		const struct secret *s = secret_at(in->book, *i);

		if (s->is_aws && in->covered & 1ull << *i)
			return s;
	}
	return NULL;
}

void inject_signed(struct inject *in, size_t i)
{
	in->injected |= 1ull << i;
}

int inject_missing(struct inject *in, size_t i)
{
	return missing(in, secret_at(in->book, i));
}

bool inject_swaps_body(const struct inject *in)
{
	return in && in->book && body_secrets(in) != 0;
}

static const char *next_of(const struct inject *in, uint64_t bits, uint64_t *told)
{
	uint64_t left = bits & ~*told;

	if (!left)
		return NULL;
	*told |= left & -left;
	return secret_at(in->book, (size_t)__builtin_ctzll(left))->name;
}

const char *inject_next_injected(struct inject *in)
{
	return in ? next_of(in, in->injected, &in->told_injected) : NULL;
}

const char *inject_next_reflected(struct inject *in)
{
	return in ? next_of(in, in->reflect.seen, &in->told_reflected) : NULL;
}

uint64_t inject_identity(const struct inject *in)
{
	uint64_t bits = in ? in->injected | in->expected : 0;

	/* a rotated credential is another one */
	return bits ? (bits * 0x9e3779b97f4a7c15u ^ secret_serial(in->book) << 1) | 1 : 0;
}
