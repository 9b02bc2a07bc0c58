/* SPDX-License-Identifier: GPL-2.0-only */
/* AWS Signature Version 4 as it stands in requests, well formed and not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/wire/sigv4.h"

#define SIG "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
#define SCOPE "20130524/us-east-1/s3/aws4_request"
#define DAY "X-Amz-Date: 20130524T000000Z\r\n"
#define A "Authorization: AWS4-HMAC-SHA256"
#define CREDENTIAL "Credential=AKID/" SCOPE
#define QUERY                                                                                      \
	"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20130524%2Fus-east-1%2Fs3%"      \
	"2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-SignedHeaders=host"

static struct http1_head head;

static int parse(const char *target, const char *fields, struct sigv4 *ret)
{
	static char text[8192];

	snprintf(
		text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a.example\r\n%s\r\n", target, fields);
	assert_int_equal(http1_parse_request(text, strlen(text), &head), 0);
	return sigv4_parse(&head, head.target, ret);
}

static void both_forms_are_read(void **state)
{
	static const struct {
		const char *target, *fields, *key_id, *region, *service, *names;
		enum sigv4_form form;
		enum sigv4_payload payload;
		bool is_s3;
	} rows[] = {
		{"/", DAY A " " CREDENTIAL ", SignedHeaders=host;x-amz-date, Signature=" SIG "\r\n",
			"AKID", "us-east-1", "s3", "host;x-amz-date", SIGV4_HEADER,
			SIGV4_PAYLOAD_BODY, true},
		/* any order, no blanks, a key id with a slash */
		{"/",
			DAY A " Signature=" SIG ",SignedHeaders=host,Credential=A/K/I/D/20130524/"
			      "eu-west-1/dynamodb/aws4_request\r\nx-amz-content-sha256: " SIG
			      "\r\n",
			"A/K/I/D", "eu-west-1", "dynamodb", "host", SIGV4_HEADER,
			SIGV4_PAYLOAD_GIVEN, false},
		/* the time in Date */
		{"/",
			"Date: 20130524T000000Z\r\n" A " " CREDENTIAL
			",SignedHeaders=host,Signature=" SIG
			"\r\nX-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n",
			"AKID", "us-east-1", "s3", "host", SIGV4_HEADER, SIGV4_PAYLOAD_CHUNKS,
			true},
		{"/x?a=b&" QUERY "&X-Amz-Signature=" SIG, "", "AKID", "us-east-1", "s3", "host",
			SIGV4_QUERY, SIGV4_PAYLOAD_GIVEN, true},
		{"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=" SIG
		 "&X-Amz-Credential=AK%2fID/20130524/us-east-1/sts/aws4_request"
		 "&X-Amz-Date=20130524T000000Z&X-Amz-SignedHeaders=a%3Bhost",
			DAY, "AK/ID", "us-east-1", "sts", "a;host", SIGV4_QUERY, SIGV4_PAYLOAD_BODY,
			false},
		{"/?" QUERY "&X-Amz-Content-Sha256=" SIG "&X-Amz-Signature=" SIG, "", "AKID",
			"us-east-1", "s3", "host", SIGV4_QUERY, SIGV4_PAYLOAD_GIVEN, true},
		{"/",
			DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG
			      "\r\nX-Amz-Content-Sha256: SOMETHING-NEW\r\n",
			"AKID", "us-east-1", "s3", "host", SIGV4_HEADER, SIGV4_PAYLOAD_UNKNOWN,
			true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sigv4 s;

		assert_int_equal(parse(rows[i].target, rows[i].fields, &s), 0);
		assert_int_equal(s.form, rows[i].form);
		assert_int_equal(s.payload, rows[i].payload);
		assert_int_equal(s.is_s3, rows[i].is_s3);
		assert_string_equal(s.key_id, rows[i].key_id);
		assert_string_equal(s.date, "20130524");
		assert_string_equal(s.time, "20130524T000000Z");
		assert_string_equal(s.region, rows[i].region);
		assert_string_equal(s.service, rows[i].service);
		assert_string_equal(s.names, rows[i].names);
		assert_string_equal(s.signature, SIG);
	}
}

static void what_could_be_read_twice_or_break_its_line_is_malformed(void **state)
{
	static const char *const rows[][2] = {
		{"/", DAY A "\r\n"},
		{"/", DAY A "x " CREDENTIAL ",SignedHeaders=host,Signature=" SIG "\r\n"},
		{"/", DAY A " " CREDENTIAL ",SignedHeaders=host\r\n"},
		{"/", A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG "\r\n"},
		{"/", DAY DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG "\r\n"},
		{"/",
			DAY A " " CREDENTIAL "," CREDENTIAL ",SignedHeaders=host,Signature=" SIG
			      "\r\n"},
		{"/", DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG ",X=y\r\n"},
		{"/", DAY A " " CREDENTIAL ",SignedHeaders=Host,Signature=" SIG "\r\n"},
		{"/", DAY A " " CREDENTIAL ",SignedHeaders=ho st,Signature=" SIG "\r\n"},
		{"/", DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG "0\r\n"},
		{"/",
			DAY A " Credential=AKID/us-east-1/s3/aws4_request,SignedHeaders=host,"
			      "Signature=" SIG "\r\n"},
		{"/",
			DAY A " Credential=AKID/20130524/us-east-1/s3/aws5_request,"
			      "SignedHeaders=host,Signature=" SIG "\r\n"},
		{"/",
			DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG
			      "\r\nAuthorization: Bearer x\r\n"},
		{"/",
			DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG
			      "\r\nx-amz-content-sha256: " SIG "\r\nx-amz-content-sha256: " SIG
			      "\r\n"},
		{"/?" QUERY "&X-Amz-Signature=" SIG,
			DAY A " " CREDENTIAL ",SignedHeaders=host,Signature=" SIG "\r\n"},
		{"/?" QUERY, ""},
		{"/?" QUERY "&X-Amz-Signature=" SIG "&X-Amz-Signature=" SIG, ""},
		{"/?" QUERY "&X-Amz-Signature=" SIG "&X-Amz-Algorithm=AWS4-HMAC-SHA256", ""},
		{"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%0A%2F20130524%2Fus%"
		 "2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-SignedHeaders=host"
		 "&X-Amz-Signature=" SIG,
			""},
		{"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2%2F20130524%2Fus%"
		 "2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-SignedHeaders=host"
		 "&X-Amz-Signature=" SIG,
			""},
		{"/?X-Amz-Algorithm=AWS5", ""},
	};
	struct sigv4 s;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(parse(rows[i][0], rows[i][1], &s), -EBADMSG);
}

static void a_presigned_url_changes_in_its_key_id_and_signature_alone(void **state)
{
	struct sigv4 s;
	struct buf out;

	(void)state;
	buf_init(&out);
	assert_int_equal(
		parse("/a%20b?&&x=1&" QUERY "&y&X-Amz-Signature=" SIG "&z=%zz+", "", &s), 0);
	sigv4_print_query(&s, head.target, &out);
	assert_int_equal(out.len, head.target.len);
	assert_memory_equal(out.data, head.target.ptr, out.len);
	buf_clear(&out);
	strcpy(s.key_id, "RE/AL");
	memset(s.signature, '0', 64);
	sigv4_print_query(&s, head.target, &out);
	assert_non_null(strstr(out.data,
		"X-Amz-Credential=RE%2FAL%2F20130524%2Fus-east-1%2Fs3%2F"
		"aws4_request&X-Amz-Date"));
	assert_non_null(strstr(out.data, "&y&X-Amz-Signature=00000"));
	assert_memory_equal(out.data + out.len - 9, "00&z=%zz+", 9);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_are_read),
		cmocka_unit_test(what_could_be_read_twice_or_break_its_line_is_malformed),
		cmocka_unit_test(a_presigned_url_changes_in_its_key_id_and_signature_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
