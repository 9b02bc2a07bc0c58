/* SPDX-License-Identifier: GPL-2.0-only */
/* Responses lose credentials, whatever their coding and their cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/wire/inflate.h"
#include "../../../user/wire/scrub.h"

#define VALUE "sk-live-51Hx0"
#define STANDIN "nej-standin-0"

static const struct needle values[] = {{VALUE, sizeof(VALUE) - 1, false}};
static struct needles *set;

static int put(void *arg, const struct needle_hit *hit, struct buf *out)
{
	(void)arg;
	swap_print_like(hit, sizeof(VALUE) - 1, STANDIN, sizeof(STANDIN) - 1, out);
	return 0;
}

static struct swap_rule rule_of(void)
{
	return (struct swap_rule){.needles = set, .hold_bytes = 1, .on_hit = put};
}

static int make_set(void **state)
{
	(void)state;
	return needles_new(values, 1, &set);
}

static int free_set(void **state)
{
	(void)state;
	needles_free(set);
	return 0;
}

/* --- heads */

static void request(const char *fields, struct http1_head *ret)
{
	static char text[512];

	strcpy(text, "GET / HTTP/1.1\r\nHost: a\r\n");
	strcat(text, fields);
	strcat(text, "\r\n");
	assert_int_equal(http1_parse_request(text, strlen(text), ret), 0);
}

static void only_codings_that_can_be_read_are_asked_for(void **state)
{
	static const struct {
		const char *fields, *asks;
	} rows[] = {
		{"", "identity"},
		{"Accept-Encoding: gzip, deflate, br, zstd\r\n", "gzip, deflate"},
		{"Accept-Encoding: br;q=1.0, GZIP;q=0.5\r\n", "gzip"},
		{"Accept-Encoding: gzip;q=0, deflate ; q=0.3\r\n", "deflate"},
		{"Accept-Encoding: gzip; q=0.000\r\n", "identity"},
		{"Accept-Encoding: *\r\n", "identity"},
		{"accept-encoding: br\r\nAccept-Encoding: x-gzip\r\n", "gzip"},
		{"Accept-Encoding: \r\n", "identity"},
		{"Accept-Encoding: gzip\r\nRange: bytes=0-5\r\n", "identity"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http1_head head;

		request(rows[i].fields, &head);
		assert_string_equal(scrub_accept_encoding(&head), rows[i].asks);
	}
}

static void response(const char *text, struct http1_head *ret)
{
	assert_int_equal(http1_parse_response(text, strlen(text), false, ret), 0);
}

static void assert_text(struct http1_text t, const char *want)
{
	assert_int_equal(t.len, strlen(want));
	assert_memory_equal(t.ptr, want, t.len);
}

static void heads_lose_credentials_everywhere(void **state)
{
	const struct swap_rule rule = rule_of();
	struct http1_head head;
	struct buf scratch = {0};

	(void)state;
	response("HTTP/1.1 403 no " VALUE "\r\n"
		 "Location: https://a.test/?t=" VALUE "&u=sk%2Dlive%2D51Hx0\r\n"
		 "X-" VALUE ": 1\r\n"
		 "Plain: text\r\n"
		 "Set-Cookie: t=" VALUE "\r\n\r\n",
		&head);
	assert_int_equal(scrub_head(&rule, &head, &scratch), 5);
	assert_text(head.phrase, "no " STANDIN);
	assert_text(head.fields[0].value, "https://a.test/?t=" STANDIN "&u=" STANDIN);
	assert_text(head.fields[1].name, "X-" STANDIN);
	assert_text(head.fields[2].value, "text");
	assert_text(head.fields[3].value, "t=" STANDIN);
	buf_done(&scratch);
}

static void coding_decides_who_reads_the_body(void **state)
{
	static const struct {
		const char *head;
		int result;
		bool has_decoder;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\n\r\n", 0, false},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\n", 0, false},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", 0, true},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: X-GZIP, identity\r\n\r\n", 0, true},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n", 0, true},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", -EPROTONOSUPPORT, false},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n", -EPROTONOSUPPORT, false},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n", -EPROTONOSUPPORT,
			false},
		{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n",
			-EPROTONOSUPPORT, false},
		{"HTTP/1.1 206 Part\r\nContent-Encoding: gzip\r\n\r\n", -EBADMSG, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sieve *decoder = NULL;
		struct http1_head head;

		response(rows[i].head, &head);
		assert_int_equal(scrub_decoder(&head, &decoder), rows[i].result);
		assert_int_equal(decoder != NULL, rows[i].has_decoder);
		if (decoder)
			assert_true(head.fields[0].is_hop);
		sieve_free(decoder);
	}
}

/* --- bodies */

static const char page[] = "{\"headers\":{\"Authorization\":\"Bearer " VALUE "\"}}";
static const char scrubbed[] = "{\"headers\":{\"Authorization\":\"Bearer " STANDIN "\"}}";

/* window as zlib counts: +16 gzip, negative bare. */
static size_t pack(int window, char *out, size_t room)
{
	z_stream z = {0};
	size_t n;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)page;
	z.avail_in = sizeof(page) - 1;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = room - z.avail_out;
	deflateEnd(&z);
	return n;
}

static int unpack(
	enum inflate_coding coding, const char *data, size_t len, size_t cut, struct buf *out)
{
	const struct swap_rule rule = rule_of();
	struct sieve *sieve = NULL;
	int r;

	assert_int_equal(inflate_sieve_new(coding, &sieve), 0);
	assert_int_equal(swap_sieve_new(&rule, NULL, &sieve->next), 0);
	r = sieve_feed(sieve, data, cut, out);
	if (r == 0)
		r = sieve_feed(sieve, data + cut, len - cut, out);
	if (r == 0)
		r = sieve_finish(sieve, out);
	sieve_free(sieve);
	return r;
}

static void compressed_bodies_are_read_at_every_cut(void **state)
{
	static const struct {
		enum inflate_coding coding;
		int window;
	} rows[] = {{INFLATE_GZIP, 31}, {INFLATE_DEFLATE, 15}, {INFLATE_DEFLATE, -15}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char packed[512];
		size_t n = pack(rows[i].window, packed, sizeof(packed));

		for (size_t cut = 0; cut <= n; cut++) {
			struct buf out = {0};

			assert_int_equal(unpack(rows[i].coding, packed, n, cut, &out), 0);
			assert_string_equal(out.data, scrubbed);
			buf_done(&out);
		}
	}
}

static void members_of_gzip_follow_one_another(void **state)
{
	char packed[1024];
	size_t n = pack(31, packed, sizeof(packed));
	struct buf out = {0};

	(void)state;
	n += pack(31, packed + n, sizeof(packed) - n);
	assert_int_equal(unpack(INFLATE_GZIP, packed, n, n / 2, &out), 0);
	assert_int_equal(out.len, 2 * (sizeof(scrubbed) - 1));
	buf_done(&out);
}

static void damaged_and_cut_bodies_end_the_response(void **state)
{
	char packed[512];
	size_t n = pack(31, packed, sizeof(packed));
	struct buf out = {0};

	(void)state;
	for (size_t len = 1; len < n; len++) {
		assert_int_equal(unpack(INFLATE_GZIP, packed, len, 0, &out), -EBADMSG);
		buf_clear(&out);
	}
	assert_int_equal(unpack(INFLATE_GZIP, page, sizeof(page) - 1, 3, &out), -EBADMSG);
	packed[n] = 'x';
	assert_int_equal(unpack(INFLATE_GZIP, packed, n + 1, n, &out), -EBADMSG);
	packed[n - 1] ^= 1;
	assert_int_equal(unpack(INFLATE_GZIP, packed, n, 0, &out), -EBADMSG);
	buf_clear(&out);
	assert_int_equal(unpack(INFLATE_GZIP, "", 0, 0, &out), 0);
	assert_int_equal(out.len, 0);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_codings_that_can_be_read_are_asked_for),
		cmocka_unit_test(heads_lose_credentials_everywhere),
		cmocka_unit_test(coding_decides_who_reads_the_body),
		cmocka_unit_test(compressed_bodies_are_read_at_every_cut),
		cmocka_unit_test(members_of_gzip_follow_one_another),
		cmocka_unit_test(damaged_and_cut_bodies_end_the_response),
	};

	return cmocka_run_group_tests(tests, make_set, free_set);
}
