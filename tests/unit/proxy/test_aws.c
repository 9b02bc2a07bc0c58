/* SPDX-License-Identifier: GPL-2.0-only */
/* Which secret signs a request, and which requests none does. test_resign.c has the signatures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/policy/policy.h"
#include "../../../user/proxy/aws.h"

static const char yaml[] =
	"version: 1\n"
	"rules: [allow: '*']\n"
	"secrets:\n"
	"  ONE: {env: ONE, for: [.s3.amazonaws.com], sign: aws-v4}\n"
	"  TOKEN: {env: TOKEN, for: [.s3.amazonaws.com]}\n"
	"  TWO: {env: TWO, for: [.s3.amazonaws.com], sign: aws-v4, key_id: ID}\n";

/* The example that AWS publishes is what the sandbox signed with TWO's placeholder. */
static struct secret items[] = {
	{.placeholder = {"placeholder of one", 18}, .value = {"value of one", 12}},
	{.placeholder = {"placeholder of token", 20}, .value = {"value of token", 14}},
	{.placeholder = {"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", 40},
		.value = {"value of two", 12},
		.key_id = {"AKIAREALREALREAL", 16}},
};

#define SIGNATURE "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"

static const char request[] =
	"GET /test.txt HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\nRange: bytes=0-9\r\n"
	"X-Amz-Content-Sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\r\n"
	"X-Amz-Date: 20130524T000000Z\r\nX-Token: placeholder of token\r\n"
	"Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
	"aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
	"Signature=" SIGNATURE "\r\n\r\n";

struct world {
	struct policy *policy;
	struct secret_store *store;
	struct inject *in;
	struct aws *aws;
	struct refusal why;
	struct http1_head head;
	struct http1_text path;
	struct buf scratch;
};

/* 1, 0 or negative as aws_new says it. */
static int look(struct world *w, const char *host_text, bool is_tls)
{
	struct err_list errs = {0};
	struct inject_ask ask = {.port = 443, .is_tls = is_tls};
	struct host host;

	memset(w, 0, sizeof(*w));
	assert_int_equal(policy_load_text(yaml, sizeof(yaml) - 1, NULL, &errs, &w->policy), 0);
	assert_int_equal(secret_store_new(&w->store), 0);
	assert_int_equal(secret_store_set(w->store, w->policy, items, ARRAY_SIZE(items)), 0);
	assert_int_equal(host_parse(host_text, strlen(host_text), &host), 0);
	ask.policy = w->policy;
	ask.host = &host;
	assert_int_equal(inject_new(w->store, &ask, &w->in), 0);
	assert_int_equal(http1_parse_request(request, strlen(request), &w->head), 0);
	w->path = w->head.target;
	return aws_new(w->in, &w->head, w->path, &w->aws, &w->why);
}

static void done(struct world *w)
{
	aws_free(w->aws);
	inject_free(w->in);
	secret_store_free(w->store);
	policy_free(w->policy);
	buf_wipe(&w->scratch);
}

static bool has_field(const struct world *w, const char *name, const char *part)
{
	for (size_t i = 0; i < w->head.n_fields; i++) {
		const struct http1_field *f = &w->head.fields[i];

		if (http1_text_is(f->name, name))
			return memmem(f->value.ptr, f->value.len, part, strlen(part)) != NULL;
	}
	return false;
}

static void the_secret_that_signed_signs_again(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(look(&w, "examplebucket.s3.amazonaws.com", true), 0);
	assert_non_null(w.aws);
	assert_int_equal(aws_verify(w.aws, &w.head, &w.path, NULL), 0);
	assert_true(has_field(&w, "authorization", "Credential=AKIAREALREALREAL/"));
	assert_int_equal(inject_head(w.in, &w.head, &w.path, &w.scratch), 0);
	assert_int_equal(aws_sign(w.aws, &w.head, &w.path, w.head.host, NULL), 0);
	assert_true(has_field(&w, "authorization", "Credential=AKIAREALREALREAL/"));
	assert_false(has_field(&w, "authorization", SIGNATURE));
	assert_true(has_field(&w, "x-token", "value of token"));
	assert_string_equal(inject_next_injected(w.in), "TOKEN");
	assert_string_equal(inject_next_injected(w.in), "TWO");
	assert_null(inject_next_injected(w.in));
	done(&w);
}

static void secret_without_a_value_refuses_what_it_signed(void **state)
{
	const struct secret_text value = items[2].value;
	struct world w;

	(void)state;
	items[2].value = (struct secret_text){0};
	assert_int_equal(look(&w, "examplebucket.s3.amazonaws.com", true), 0);
	assert_int_equal(aws_verify(w.aws, &w.head, &w.path, NULL), INJECT_MISSING);
	assert_int_equal(
		inject_refusal(w.in, INJECT_MISSING).reason, NEJ_REASON_SECRET_UNAVAILABLE);
	assert_true(has_field(&w, "authorization", SIGNATURE));
	items[2].value = value;
	done(&w);
}

static void nothing_is_signed_elsewhere_or_in_clear(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(look(&w, "examplebucket.s3.amazonaws.com", false), 0);
	assert_null(w.aws);
	done(&w);
	assert_int_equal(look(&w, "s3.example", true), 0);
	assert_null(w.aws);
	/* and the calls for nothing do nothing */
	assert_int_equal(aws_verify(w.aws, &w.head, &w.path, NULL), 0);
	assert_int_equal(aws_sign(w.aws, &w.head, &w.path, w.head.host, NULL), 0);
	assert_true(has_field(&w, "authorization", SIGNATURE));
	done(&w);
}

static void what_another_key_signed_stays_as_it_is(void **state)
{
	const struct secret_text placeholder = items[2].placeholder;
	struct world w;

	(void)state;
	items[2].placeholder = (struct secret_text){"placeholder of two", 18};
	assert_int_equal(look(&w, "examplebucket.s3.amazonaws.com", true), 0);
	assert_int_equal(aws_verify(w.aws, &w.head, &w.path, NULL), 0);
	assert_int_equal(aws_sign(w.aws, &w.head, &w.path, w.head.host, NULL), 0);
	assert_true(has_field(&w, "authorization", SIGNATURE));
	assert_true(has_field(&w, "authorization", "AKIAIOSFODNN7EXAMPLE"));
	assert_null(inject_next_injected(w.in));
	items[2].placeholder = placeholder;
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_secret_that_signed_signs_again),
		cmocka_unit_test(secret_without_a_value_refuses_what_it_signed),
		cmocka_unit_test(nothing_is_signed_elsewhere_or_in_clear),
		cmocka_unit_test(what_another_key_signed_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
