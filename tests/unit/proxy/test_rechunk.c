/* SPDX-License-Identifier: GPL-2.0-only */
/* aws-chunked uploads signed anew, by the examples AWS publishes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../include/bounds.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/proxy/rechunk.h"

#define EXAMPLE "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define OTHER "another/secret+access0key"
#define AUTH                                                                                       \
	"Authorization: AWS4-HMAC-SHA256 "                                                         \
	"Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="

/* 64 KiB and 1 KiB of the letter a; the signatures in their order. */
static const struct upload {
	const char *head, *chunks[3], *trailers;
} uploads[] = {
	{"PUT /examplebucket/chunkObject.txt HTTP/1.1\r\nHost: s3.amazonaws.com\r\n"
	 "x-amz-date: 20130524T000000Z\r\nx-amz-storage-class: REDUCED_REDUNDANCY\r\n"
	 "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n"
	 "Content-Encoding: aws-chunked\r\nx-amz-decoded-content-length: 66560\r\n"
	 "Content-Length: 66824\r\n" AUTH
	 "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;"
	 "x-amz-decoded-content-length;x-amz-storage-class, Signature="
	 "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9\r\n\r\n",
		{"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
			"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
			"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"},
		NULL},
	{"PUT /examplebucket/chunkObject.txt HTTP/1.1\r\nHost: s3.amazonaws.com\r\n"
	 "x-amz-date: 20130524T000000Z\r\nx-amz-storage-class: REDUCED_REDUNDANCY\r\n"
	 "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER\r\n"
	 "Content-Encoding: aws-chunked\r\nx-amz-decoded-content-length: 66560\r\n"
	 "x-amz-trailer: x-amz-checksum-crc32c\r\nContent-Length: 67000\r\n" AUTH
	 "content-encoding;host;x-amz-content-sha256;x-amz-date;"
	 "x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer, Signature="
	 "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e\r\n\r\n",
		{"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
			"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
			"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992"},
		"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"},
};

static void print_body(const struct upload *u, struct buf *out)
{
	static const size_t sizes[] = {65536, 1024, 0};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		buf_printf(out, "%zx;chunk-signature=%s\r\n", sizes[i], u->chunks[i]);
		for (size_t n = 0; n < sizes[i]; n++)
			buf_add_char(out, 'a');
		if (sizes[i] || !u->trailers)
			buf_add_str(out, "\r\n");
	}
	if (u->trailers)
		buf_printf(out,
			"x-amz-checksum-crc32c:sOO8/Q==\n\r\nx-amz-trailer-signature:%s\r\n\r\n",
			u->trailers);
}

/* Signs the head anew and begins a sieve for its body. */
static struct sieve *begin(const struct upload *u, const char *signature, const char *placeholder,
	const char *secret, size_t *held, struct resign *r)
{
	static struct http1_head came, goes;
	struct resign_keys keys = {.placeholder = {placeholder, strlen(placeholder)},
		.secret = {secret, strlen(secret)}};
	struct http1_text path;
	struct sieve *sieve;
	const char *detail;
	char head[2048];

	strcpy(head, u->head);
	if (signature)
		memcpy(strstr(head, "Signature=") + 10, signature, 64);
	assert_int_equal(http1_parse_request(head, strlen(head), &came), 0);
	goes = came;
	path = came.target;
	assert_int_equal(resign_init(r, &came, path, &detail), RESIGN_CHUNKS);
	assert_int_equal(resign_verify(r, &keys, &came, path, NULL), 1);
	assert_int_equal(resign_sign(r, &goes, &path, came.host, NULL), 0);
	*held = 0;
	assert_int_equal(rechunk_new(r, held, &sieve), 0);
	return sieve;
}

static int feed(struct sieve *s, const struct buf *in, size_t step, struct buf *out)
{
	int r = 0;

	for (size_t at = 0; at < in->len && r == 0; at += step) {
		size_t n = in->len - at < step ? in->len - at : step;

		r = sieve_feed(s, in->data + at, n, out);
	}
	return r < 0 ? r : sieve_finish(s, out);
}

static void chunks_are_signed_with_another_key_and_back(void **state)
{
	static const size_t steps[] = {1 << 20, 65536, 777, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(uploads) * ARRAY_SIZE(steps); i++) {
		const struct upload *u = &uploads[i / ARRAY_SIZE(steps)];
		size_t step = steps[i % ARRAY_SIZE(steps)], held;
		struct buf first, there, back;
		struct resign r;
		char seed[SIGV4_HEX_BYTES];
		struct sieve *s;

		buf_init(&first);
		buf_init(&there);
		buf_init(&back);
		print_body(u, &first);
		s = begin(u, NULL, EXAMPLE, OTHER, &held, &r);
		assert_int_equal(feed(s, &first, step, &there), 0);
		assert_int_equal(there.len, first.len);
		assert_null(memmem(there.data, there.len, u->chunks[0], 64));
		sieve_free(s);
		assert_int_equal(held, 0);
		memcpy(seed, r.up.signature, sizeof(seed));
		resign_done(&r);

		s = begin(u, seed, OTHER, EXAMPLE, &held, &r);
		assert_int_equal(feed(s, &there, step, &back), 0);
		assert_int_equal(back.len, first.len);
		assert_memory_equal(back.data, first.data, first.len);
		sieve_free(s);
		resign_done(&r);
		buf_done(&first);
		buf_done(&there);
		buf_done(&back);
	}
}

/* One byte of the body is another one. */
static void a_chunk_that_was_changed_is_not_signed(void **state)
{
	static const size_t at[] = {0, 1, 10, 40, 86, 100, 65535, 65625, 65650, 66737, 66800};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at) * 2; i++) {
		const struct upload *u = &uploads[i % 2];
		struct buf body, out;
		struct resign r;
		struct sieve *s;
		size_t held;

		buf_init(&body);
		buf_init(&out);
		print_body(u, &body);
		body.data[at[i / 2]] ^= 1;
		s = begin(u, NULL, EXAMPLE, OTHER, &held, &r);
		assert_int_equal(feed(s, &body, 4096, &out), -EBADMSG);
		sieve_free(s);
		resign_done(&r);
		buf_done(&body);
		buf_done(&out);
	}
}

static void a_body_that_is_cut_or_goes_on_is_an_error(void **state)
{
	static const size_t cuts[] = {0, 20, 80, 90, 65626, 66737, 66738, 66823};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cuts) + 1; i++) {
		struct buf body, out;
		struct resign r;
		struct sieve *s;
		size_t held;

		buf_init(&body);
		buf_init(&out);
		print_body(&uploads[0], &body);
		if (i < ARRAY_SIZE(cuts))
			body.len = cuts[i];
		else
			buf_add_str(&body, "0");
		s = begin(&uploads[0], NULL, EXAMPLE, OTHER, &held, &r);
		assert_int_equal(feed(s, &body, 5000, &out), -EBADMSG);
		sieve_free(s);
		resign_done(&r);
		buf_done(&body);
		buf_done(&out);
	}
}

static void what_is_kept_back_is_counted_and_bounded(void **state)
{
	const char line[] = "100000;chunk-signature="
			    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n";
	const char long_line[] =
		"100001;chunk-signature="
		"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n";
	struct resign r;
	struct buf out;
	struct sieve *s;
	size_t held;

	(void)state;
	buf_init(&out);
	s = begin(&uploads[0], NULL, EXAMPLE, OTHER, &held, &r);
	assert_int_equal(sieve_feed(s, long_line, strlen(long_line), &out), -E2BIG);
	sieve_free(s);
	resign_done(&r);
	s = begin(&uploads[0], NULL, EXAMPLE, OTHER, &held, &r);
	assert_int_equal(sieve_feed(s, line, strlen(line), &out), 0);
	assert_in_range(held, strlen(line), 4096);
	held += NEJ_MAX_HELD_BYTES;
	assert_int_equal(sieve_feed(s, "x", 1, &out), -ENOBUFS);
	sieve_free(s);
	assert_int_equal(held, NEJ_MAX_HELD_BYTES);
	resign_done(&r);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_signed_with_another_key_and_back),
		cmocka_unit_test(a_chunk_that_was_changed_is_not_signed),
		cmocka_unit_test(a_body_that_is_cut_or_goes_on_is_an_error),
		cmocka_unit_test(what_is_kept_back_is_counted_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
