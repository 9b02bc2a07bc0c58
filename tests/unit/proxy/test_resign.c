/* SPDX-License-Identifier: GPL-2.0-only */
/* AWS signatures made anew, by the examples AWS publishes and by what must never be signed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/proxy/resign.h"
#include "../../../user/wire/canonical.h"

#define EXAMPLE "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define OTHER "another/secret+access0key"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define S3 "/20130524/us-east-1/s3/aws4_request"
#define AUTH(names, signature)                                                                     \
	"Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE" S3                       \
	", SignedHeaders=" names ", Signature=" signature "\r\n"
#define DAY "X-Amz-Date: 20130524T000000Z\r\n"
#define HOST "Host: examplebucket.s3.amazonaws.com\r\n"

struct signing {
	struct http1_head came, goes;
	struct resign r;
	enum resign_need need;
	const char *detail;
	struct http1_text path; /* as it goes up */
	int result;
	char text[8192];
};

static struct http1_text text_of(const char *s)
{
	return (struct http1_text){s, s ? strlen(s) : 0};
}

static struct resign_keys keys_of(const char *placeholder, const char *secret)
{
	return (struct resign_keys){.placeholder = text_of(placeholder), .secret = text_of(secret)};
}

/* Looks at a request's head and verifies it. */
static void verify(
	struct signing *g, const char *head, const char *body, const struct resign_keys *keys)
{
	char hash[SIGV4_HEX_BYTES];

	snprintf(g->text, sizeof(g->text), "%s\r\n", head);
	assert_int_equal(http1_parse_request(g->text, strlen(g->text), &g->came), 0);
	g->goes = g->came;
	g->path = g->came.target;
	g->need = resign_init(&g->r, &g->came, g->path, &g->detail);
	g->result = 0;
	if (g->need == RESIGN_NOTHING || g->need == RESIGN_REFUSED)
		return;
	if (body)
		assert_int_equal(hmac_hash(body, strlen(body), hash), 0);
	g->result = resign_verify(&g->r, keys, &g->came, g->path, body ? hash : NULL);
}

/* The same, then signs it with the other key as it is. */
static void sign_with(
	struct signing *g, const char *head, const char *body, const struct resign_keys *keys)
{
	char hash[SIGV4_HEX_BYTES];

	verify(g, head, body, keys);
	if (g->result != 1)
		return;
	if (body)
		assert_int_equal(hmac_hash(body, strlen(body), hash), 0);
	assert_int_equal(resign_place(&g->r, &g->goes, &g->path), 0);
	assert_int_equal(
		resign_sign(&g->r, &g->goes, &g->path, g->came.host, body ? hash : NULL), 0);
}

/* The head with the new signature in it, to be read by the next. */
static void print_signed(const struct signing *g, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%.*s %.*s HTTP/1.1\r\n", (int)g->goes.method.len,
		g->goes.method.ptr, (int)g->path.len, g->path.ptr);

	for (size_t i = 0; i < g->goes.n_fields; i++)
		n += (size_t)snprintf(out + n, size - n, "%.*s: %.*s\r\n",
			(int)g->goes.fields[i].name.len, g->goes.fields[i].name.ptr,
			(int)g->goes.fields[i].value.len, g->goes.fields[i].value.ptr);
	assert_true(n < size);
}

static const struct example {
	const char *head, *body, *signature, *secret;
} examples[] = {
	{"GET /test.txt HTTP/1.1\r\n" HOST "Range: bytes=0-9\r\nx-amz-content-sha256: " EMPTY
	 "\r\n" DAY AUTH("host;range;x-amz-content-sha256;x-amz-date",
		 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
		NULL, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", EXAMPLE},
	{"PUT /test$file.text HTTP/1.1\r\n" HOST "Date: Fri, 24 May 2013 00:00:00 GMT\r\n" DAY
	 "x-amz-storage-class: REDUCED_REDUNDANCY\r\nContent-Length: 21\r\n"
	 "x-amz-content-sha256: "
	 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n" AUTH(
		 "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
		 "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
		"Welcome to Amazon S3.",
		"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd", EXAMPLE},
	{"GET /?lifecycle HTTP/1.1\r\n" HOST DAY "x-amz-content-sha256: " EMPTY
	 "\r\n" AUTH("host;x-amz-content-sha256;x-amz-date",
		 "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
		NULL, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", EXAMPLE},
	{"GET /?prefix=J&max-keys=2 HTTP/1.1\r\n" HOST DAY "x-amz-content-sha256: " EMPTY
	 "\r\n" AUTH("host;x-amz-content-sha256;x-amz-date",
		 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
		NULL, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", EXAMPLE},
	{"GET /test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE"
	 "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"
	 "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
	 "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404 HTTP/1.1\r\n" HOST,
		NULL, "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404", EXAMPLE},
	/* the general reference's example: the body's hash is nowhere in it */
	{"GET /?Action=ListUsers&Version=2010-05-08 HTTP/1.1\r\nHost: iam.amazonaws.com\r\n"
	 "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"
	 "X-Amz-Date: 20150830T123600Z\r\n"
	 "Authorization: AWS4-HMAC-SHA256 "
	 "Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
	 "SignedHeaders=content-type;host;x-amz-date, Signature="
	 "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7\r\n",
		"", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
		"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
};

static void published_examples_are_signed_with_another_key_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *e = &examples[i];
		struct resign_keys to = keys_of(e->secret, OTHER), back = keys_of(OTHER, e->secret);
		static struct signing there, again;
		char head[8192];

		sign_with(&there, e->head, e->body, &to);
		assert_int_equal(there.result, 1);
		assert_string_not_equal(there.r.up.signature, e->signature);
		print_signed(&there, head, sizeof(head));
		assert_null(strstr(head, e->signature));
		assert_non_null(strstr(head, there.r.up.signature));
		sign_with(&again, head, e->body, &back);
		assert_int_equal(again.result, 1);
		assert_string_equal(again.r.up.signature, e->signature);
		print_signed(&again, head, sizeof(head));
		assert_non_null(strstr(head, e->signature));
		resign_done(&there.r);
		resign_done(&again.r);
	}
}

static void a_request_of_another_key_is_not_signed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct resign_keys keys = keys_of("a placeholder nobody signed with", OTHER);
		static struct signing g;

		sign_with(&g, examples[i].head, examples[i].body, &keys);
		assert_int_equal(g.result, 0);
		assert_int_equal(g.r.authorization.len + g.r.path.len, 0);
		assert_memory_equal(&g.goes, &g.came, sizeof(g.came));
		resign_done(&g.r);
	}
}

/* The first example with a part changed after it was signed. */
static void a_request_changed_after_signing_is_not_signed(void **state)
{
	static const char *const changes[][2] = {
		{"/test.txt", "/tesT.txt"},
		{"GET", "PUT"},
		{"bytes=0-9", "bytes=0-8"},
		{"examplebucket", "examplebuckeu"},
		{"20130524T000000Z", "20130524T000001Z"},
		{"us-east-1", "us-east-2"},
		{"e3b0c442", "e3b0c443"},
		{"bdb41", "bdb42"},
	};
	struct resign_keys keys = keys_of(EXAMPLE, OTHER);

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		static struct signing g;
		char head[2048];
		char *at;

		strcpy(head, examples[0].head);
		at = strstr(head, changes[i][0]);
		assert_non_null(at);
		memcpy(at, changes[i][1], strlen(changes[i][1]));
		sign_with(&g, head, NULL, &keys);
		assert_int_equal(g.result, 0);
		resign_done(&g.r);
	}
}

static void a_hash_that_is_not_the_body_s_is_not_signed(void **state)
{
	struct resign_keys keys = keys_of(EXAMPLE, OTHER);
	static struct signing g;

	(void)state;
	sign_with(&g, examples[1].head, "Welcome to Amazon S4.", &keys);
	assert_int_equal(g.result, 0);
	resign_done(&g.r);
	/* and a body that must be hashed must be at hand */
	keys = keys_of(examples[5].secret, OTHER);
	sign_with(&g, examples[5].head, NULL, &keys);
	assert_int_equal(g.need, RESIGN_BODY);
	assert_int_equal(g.result, 0);
	resign_done(&g.r);
}

static void the_key_id_is_replaced_before_signing(void **state)
{
	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct resign_keys to = keys_of(EXAMPLE, OTHER), back = keys_of(OTHER, EXAMPLE);
		static struct signing there, again;
		char head[8192];

		back.id = text_of("AKIAIOSFODNN7EXAMPLE");
		to.id = text_of("AKIAREALREALREAL/+");
		sign_with(&there, examples[i].head, examples[i].body, &to);
		assert_int_equal(there.result, 1);
		print_signed(&there, head, sizeof(head));
		assert_null(strstr(head, "AKIAIOSFODNN7EXAMPLE"));
		sign_with(&again, head, examples[i].body, &back);
		assert_non_null(strstr(head, "AKIAREALREALREAL"));
		assert_int_equal(again.result, 1);
		assert_string_equal(again.r.up.signature, examples[i].signature);
		resign_done(&there.r);
		resign_done(&again.r);
	}
}

/* Fills in a signature of zeros, as a client with this key does. */
static void sign_as_client(char *head, const char *secret, const char *payload)
{
	static struct http1_head h;
	struct canonical_reading reading = {0};
	struct canonical_request c = {.head = &h, .payload = payload};
	const char *steps[5];
	struct sigv4 s;
	struct buf text;
	char end[8192], key[128], hash[SIGV4_HEX_BYTES];
	uint8_t code[HMAC_BYTES];
	size_t key_len;

	snprintf(end, sizeof(end), "%s\r\n", head);
	assert_int_equal(http1_parse_request(end, strlen(end), &h), 0);
	assert_int_equal(sigv4_parse(&h, h.target, &s), 0);
	c.method = h.method;
	c.path = h.target;
	c.host = h.host;
	assert_true(canonical_reading(s.is_s3, 0, &reading));
	buf_init(&text);
	assert_int_equal(canonical_print(&s, &c, reading, &text), 0);
	assert_int_equal(hmac_hash(text.data, text.len, hash), 0);
	buf_clear(&text);
	sigv4_print_string(&s, hash, &text);
	steps[0] = s.date;
	steps[1] = s.region;
	steps[2] = s.service;
	steps[3] = "aws4_request";
	steps[4] = text.data;
	key_len = (size_t)snprintf(key, sizeof(key), "AWS4%s", secret);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(hmac_sign(i ? (const void *)code : key, i ? sizeof(code) : key_len,
					 steps[i], strlen(steps[i]), code),
			0);
	}
	hmac_print(code, hash);
	memcpy(strstr(head, ZEROS), hash, 64);
	buf_done(&text);
}

/* A token in place of its placeholder, another name of the host, a field of one hop. */
static void what_changes_on_the_way_is_signed_as_it_goes_up(void **state)
{
	char head[4096] =
		"GET /a//b%20c?b=%7E&a=1+2 HTTP/1.1\r\nHost: bucket.example:443\r\n" DAY
		"x-amz-security-token: a placeholder\r\nTE: trailers\r\n"
		"x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n" AUTH(
			"host;te;x-amz-content-sha256;x-amz-date;x-amz-security-token", ZEROS);
	char wanted[4096] =
		"GET /a//b%20c?b=%7E&a=1+2 HTTP/1.1\r\nHost: bucket.example\r\n" DAY
		"x-amz-security-token: the true token\r\n"
		"x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n" AUTH(
			"host;x-amz-content-sha256;x-amz-date;x-amz-security-token", ZEROS);
	struct resign_keys keys = keys_of(EXAMPLE, OTHER);
	static struct signing g;

	(void)state;
	sign_as_client(head, EXAMPLE, "UNSIGNED-PAYLOAD");
	sign_as_client(wanted, OTHER, "UNSIGNED-PAYLOAD");
	verify(&g, head, NULL, &keys);
	assert_int_equal(g.result, 1);
	for (size_t i = 0; i < g.goes.n_fields; i++)
		if (http1_text_is(g.goes.fields[i].name, "x-amz-security-token"))
			g.goes.fields[i].value = text_of("the true token");
	assert_int_equal(resign_sign(&g.r, &g.goes, &g.path, text_of("bucket.example"), NULL), 0);
	assert_non_null(strstr(wanted, g.r.authorization.data));
	resign_done(&g.r);
}

static void a_body_changed_on_the_way_is_named_by_its_new_hash(void **state)
{
	struct resign_keys keys = keys_of(EXAMPLE, OTHER);
	char head[4096], wanted[4096], hash[SIGV4_HEX_BYTES];
	static struct signing g;

	(void)state;
	hmac_hash("the secret", 10, hash);
	snprintf(head, sizeof(head), "PUT / HTTP/1.1\r\n" HOST DAY "x-amz-content-sha256: %s\r\n%s",
		EMPTY, AUTH("host;x-amz-content-sha256;x-amz-date", ZEROS));
	snprintf(wanted, sizeof(wanted),
		"PUT / HTTP/1.1\r\n" HOST DAY "x-amz-content-sha256: %s\r\n%s", hash,
		AUTH("host;x-amz-content-sha256;x-amz-date", ZEROS));
	sign_as_client(head, EXAMPLE, EMPTY);
	sign_as_client(wanted, OTHER, hash);
	verify(&g, head, "", &keys);
	assert_int_equal(g.result, 1);
	assert_int_equal(resign_sign(&g.r, &g.goes, &g.path, g.came.host, hash), 0);
	assert_non_null(strstr(wanted, g.r.authorization.data));
	print_signed(&g, head, sizeof(head));
	assert_non_null(strstr(head, hash));
	assert_null(strstr(head, EMPTY));
	resign_done(&g.r);
}

static void other_signatures_are_let_be_and_asymmetric_ones_refused(void **state)
{
	static const struct {
		const char *head;
		enum resign_need need;
	} rows[] = {
		{"GET / HTTP/1.1\r\n" HOST, RESIGN_NOTHING},
		{"GET / HTTP/1.1\r\n" HOST "Authorization: Bearer x\r\n", RESIGN_NOTHING},
		{"GET / HTTP/1.1\r\n" HOST "Authorization: AWS AKIA:c2ln\r\n", RESIGN_NOTHING},
		{"GET / HTTP/1.1\r\n" HOST DAY "Authorization: AWS4-HMAC-SHA256 rubbish\r\n",
			RESIGN_NOTHING},
		{"GET / HTTP/1.1\r\n" HOST DAY AUTH("host", EMPTY) AUTH("host", EMPTY),
			RESIGN_NOTHING},
		{"GET / HTTP/1.1\r\n" HOST DAY AUTH("host", EMPTY), RESIGN_BODY},
		{"GET / HTTP/1.1\r\n" HOST DAY
		 "x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n" AUTH("host", EMPTY),
			RESIGN_HEAD},
		{"GET / HTTP/1.1\r\n" HOST DAY
		 "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n" AUTH("host", EMPTY),
			RESIGN_HEAD},
		{"GET / HTTP/1.1\r\n" HOST DAY
		 "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n" AUTH("host", EMPTY),
			RESIGN_CHUNKS},
		{"GET / HTTP/1.1\r\n" HOST DAY
		 "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-EVENTS\r\n" AUTH("host", EMPTY),
			RESIGN_REFUSED},
		{"GET / HTTP/1.1\r\n" HOST DAY
		 "Authorization: AWS4-ECDSA-P256-SHA256 Credential=x\r\n",
			RESIGN_REFUSED},
		{"GET /?X-Amz-Algorithm=AWS4-ECDSA-P256-SHA256 HTTP/1.1\r\n" HOST, RESIGN_REFUSED},
	};
	struct resign_keys keys = keys_of(EXAMPLE, OTHER);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct signing g;

		sign_with(&g, rows[i].head, NULL, &keys);
		assert_int_equal(g.need, rows[i].need);
		assert_int_equal(!g.detail, rows[i].need != RESIGN_REFUSED);
		resign_done(&g.r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_examples_are_signed_with_another_key_and_back),
		cmocka_unit_test(a_request_of_another_key_is_not_signed),
		cmocka_unit_test(a_request_changed_after_signing_is_not_signed),
		cmocka_unit_test(a_hash_that_is_not_the_body_s_is_not_signed),
		cmocka_unit_test(the_key_id_is_replaced_before_signing),
		cmocka_unit_test(what_changes_on_the_way_is_signed_as_it_goes_up),
		cmocka_unit_test(a_body_changed_on_the_way_is_named_by_its_new_hash),
		cmocka_unit_test(other_signatures_are_let_be_and_asymmetric_ones_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
