/* SPDX-License-Identifier: GPL-2.0-only */
/* Placeholders become values at their hosts, end requests elsewhere, and never come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/policy/policy.h"
#include "../../../user/proxy/inject.h"

static const char yaml[] = "version: 1\n"
			   "rules:\n"
			   "  - allow: .gh.test\n"
			   "  - allow: api.test\n"
			   "  - allow: evil.test\n"
			   "secrets:\n"
			   "  GH: {env: GH, for: [.gh.test]}\n"
			   "  API: {env: API, for: [api.test], in: [headers, query, body]}\n"
			   "  GONE: {env: GONE, for: [gh.test]}\n";

static const struct secret items[] = {
	{.placeholder = {"nej_phAAAAAAAA01", 16}, .value = {"ghp_real/value+1", 16}},
	{.placeholder = {"nej_phBBBBBBBB02", 16}, .value = {"k\"e&y=real\\val 2", 16}},
	{.placeholder = {"nej_phCCCCCCCC03", 16}},
};

static struct policy *policy;
static struct secret_store *store;

static int begin(void **state)
{
	struct err_list errs = {0};

	(void)state;
	if (policy_load_text(yaml, sizeof(yaml) - 1, NULL, &errs, &policy) < 0)
		return -1;
	return secret_store_new(&store) < 0 || secret_store_set(store, policy, items, 3) < 0;
}

static int end(void **state)
{
	(void)state;
	secret_store_free(store);
	policy_free(policy);
	return 0;
}

/* --- one request */

struct asked {
	const char *host, *target, *fields;
	bool is_clear;
	const char *method; /* NULL: GET */
};

struct answer {
	struct inject *in;
	struct http1_head head;
	struct http1_text path;
	struct buf scratch;
	char text[1024];
	int result;
};

static void ask(const struct asked *a, struct answer *ret)
{
	struct inject_ask inject_ask = {.policy = policy, .port = 443, .is_tls = !a->is_clear};
	struct host host;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(host_parse(a->host, strlen(a->host), &host), 0);
	inject_ask.host = &host;
	strcpy(ret->text, a->method ? a->method : "GET");
	strcat(ret->text, " ");
	strcat(ret->text, a->target);
	strcat(ret->text, " HTTP/1.1\r\nHost: x\r\n");
	strcat(ret->text, a->fields);
	strcat(ret->text, "\r\n");
	assert_int_equal(http1_parse_request(ret->text, strlen(ret->text), &ret->head), 0);
	ret->path = ret->head.target;
	assert_int_equal(inject_new(store, &inject_ask, &ret->in), 0);
	ret->result = inject_head(ret->in, &ret->head, &ret->path, &ret->scratch);
}

static void done(struct answer *a)
{
	inject_free(a->in);
	buf_wipe(&a->scratch);
}

static void assert_text(struct http1_text t, const char *want)
{
	assert_int_equal(t.len, strlen(want));
	assert_memory_equal(t.ptr, want, t.len);
}

static const struct {
	struct asked asked;
	const char *path, *value; /* as they go up; value of the last field that was sent */
} allowed[] = {
	{{"gh.test", "/a?b", "Authorization: token nej_phAAAAAAAA01\r\n", false, NULL}, "/a?b",
		"token ghp_real/value+1"},
	{{"api.gh.test", "/", "Cookie: a=b; t=nej_phAAAAAAAA01;c=d\r\n", false, NULL}, "/",
		"a=b; t=ghp_real/value+1;c=d"},
	{{"gh.test", "/", "X-A: nej_phAAAAAAAA01,nej_phAAAAAAAA01\r\n", false, NULL}, "/",
		"ghp_real/value+1,ghp_real/value+1"},
	/* x:PLACEHOLDER and PLACEHOLDER:x-oauth-basic, decoded and encoded again */
	{{"gh.test", "/", "Authorization: Basic eDpuZWpfcGhBQUFBQUFBQTAx\r\n", false, NULL}, "/",
		"Basic eDpnaHBfcmVhbC92YWx1ZSsx"},
	{{"gh.test", "/", "authorization: bAsIc  bmVqX3BoQUFBQUFBQUEwMTp4LW9hdXRoLWJhc2lj\r\n",
		 false, NULL},
		"/", "bAsIc  Z2hwX3JlYWwvdmFsdWUrMTp4LW9hdXRoLWJhc2lj"},
	{{"api.test", "/v1?key=nej_phBBBBBBBB02&x", "X-Key: nej_phBBBBBBBB02\r\n", false, NULL},
		"/v1?key=k%22e%26y%3Dreal%5Cval%202&x", "k\"e&y=real\\val 2"},
	{{"api.test", "/botnej%5fphBBBBBBBB02/send", "X: y\r\n", false, NULL},
		"/botk%22e%26y%3Dreal%5Cval%202/send", "y"},
	{{"evil.test", "/nej_ph", "X: nej_phAAAAAAAA0\r\n", true, NULL}, "/nej_ph",
		"nej_phAAAAAAAA0"},
	{{"evil.test", "/", "Connection: X\r\nX: nej_phAAAAAAAA01\r\n", false, NULL}, "/",
		"nej_phAAAAAAAA01"}, /* stays behind: it is no field for the next hop */
};

static void placeholder_becomes_its_value_where_it_may(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		struct answer a;
		size_t n;

		ask(&allowed[i].asked, &a);
		assert_int_equal(a.result, 0);
		assert_text(a.path, allowed[i].path);
		for (n = a.head.n_fields; n && a.head.fields[n - 1].name.len == 15;)
			n--; /* Accept-Encoding, added */
		assert_text(a.head.fields[n - 1].value, allowed[i].value);
		done(&a);
	}
}

static const struct {
	struct asked asked;
	int result;
	const char *note; /* part of it */
} refused[] = {
	/* another host, in every place */
	{{"evil.test", "/", "Authorization: Bearer nej_phAAAAAAAA01\r\n", 0, NULL}, -EPERM,
		"GH stands in the header: it is not for evil.test"},
	{{"evil.test", "/?nej_phAAAAAAAA01", "", 0, NULL}, -EPERM, "path or query"},
	{{"evil.test", "/%6eej_phAAAAAAAA01/", "", 0, NULL}, -EPERM, "path or query"},
	{{"evil.test", "/?%256Eej_phAAAAAAAA01/", "", 0, NULL}, -EPERM, "path or query"},
	{{"evil.test", "/", "X-nej_phAAAAAAAA01: 1\r\n", 0, NULL}, -EPERM, "name of a header"},
	{{"evil.test", "/", "x: NEJ_PHAAAAAAAA01\r\n", 0, NULL}, -EPERM, "header"},
	{{"evil.test", "/", "Authorization: Basic eDpuZWpfcGhBQUFBQUFBQTAx\r\n", 0, NULL}, -EPERM,
		"Authorization"},
	{{"evil.test", "/?a=bmVqX3BoQUFBQUFBQUEwMQ", "", 0, NULL}, -EPERM, "path"},
	{{"evil.test", "/", "X: eG5lal9waEFBQUFBQUFBMDE=\r\n", 0, NULL}, -EPERM, "header"},
	{{"evil.test", "/", "X: 6e656a5f70684141414141414141303\r\n", 0, NULL}, 0, NULL},
	{{"evil.test", "/", "X: 6e656a5f706841414141414141413031\r\n", 0, NULL}, -EPERM, "header"},
	{{"nej_phaaaaaaaa01.gh.test", "/", "", 0, NULL}, -EPERM, "host name"},
	{{"api.test", "/", "X: nej_phAAAAAAAA01\r\n", 0, NULL}, -EPERM, "it is not for api.test"},
	/* the right host, the wrong way */
	{{"gh.test", "/", "X: nej_phAAAAAAAA01\r\n", true, NULL}, -EPERM, "only sent over TLS"},
	{{"gh.test", "/?t=nej_phAAAAAAAA01", "", 0, NULL}, -EPERM, "`in` does not name"},
	{{"gh.test", "/", "X-nej_phAAAAAAAA01: 1\r\n", 0, NULL}, -EPERM, "`in` does not name"},
	{{"gh.test", "/", "X: nej_phaaaaaaaa01\r\n", 0, NULL}, -EPERM, "cannot be replaced"},
	{{"gh.test", "/", "X: bmVqX3BoQUFBQUFBQUEwMQ\r\n", 0, NULL}, -EPERM, "cannot be replaced"},
	{{"gh.test", "/", "X: nej%5fphAAAAAAAA01\r\n", 0, NULL}, -EPERM, "cannot be replaced"},
	{{"gh.test", "/", "X: y\r\n", 0, "TRACE"}, -EPERM, "TRACE"},
	{{"gh.test", "/", "Authorization: a\r\nAuthorization: nej_phAAAAAAAA01\r\n", 0, NULL},
		-EBADMSG, "one Authorization"},
	{{"gh.test", "/", "X: nej_phCCCCCCCC03\r\n", 0, NULL}, -ENOKEY, "GONE has no value"},
};

static void placeholder_elsewhere_ends_the_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct answer a;
		struct refusal why;

		ask(&refused[i].asked, &a);
		assert_int_equal(a.result, refused[i].result);
		if (a.result < 0) {
			why = inject_refusal(a.in, a.result);
			assert_non_null(strstr(why.detail, refused[i].note));
			assert_int_not_equal(why.reason, NEJ_REASON_INTERNAL);
		}
		assert_null(inject_next_injected(a.in));
		done(&a);
	}
}

static void injection_is_told_once_and_limits_the_answer(void **state)
{
	const struct asked asked = {.host = "gh.test",
		.target = "/",
		.fields = "A: nej_phAAAAAAAA01\r\nAccept-Encoding: br, gzip\r\n"
			  "Accept-Encoding: zstd\r\n"};
	struct answer a;

	(void)state;
	ask(&asked, &a);
	assert_string_equal(inject_next_injected(a.in), "GH");
	assert_null(inject_next_injected(a.in));
	assert_int_not_equal(inject_identity(a.in), 0);
	assert_true(inject_is_scrubbed(a.in));
	assert_text(a.head.fields[2].value, "gzip");
	assert_false(a.head.fields[2].is_hop);
	assert_true(a.head.fields[3].is_hop);
	done(&a);
}

/* --- bodies */

static int send_body(struct answer *a, const char *text, size_t cut, struct buf *out)
{
	struct sieve *sieve;
	bool is_swap;
	int r;

	assert_int_equal(inject_body(a->in, &a->head, &sieve, &is_swap), 0);
	r = sieve_feed(sieve, text, cut, out);
	if (r == 0)
		r = sieve_feed(sieve, text + cut, strlen(text) - cut, out);
	if (r == 0)
		r = sieve_finish(sieve, out);
	sieve_free(sieve);
	return r;
}

static void body_is_replaced_in_the_language_of_its_type(void **state)
{
	static const struct {
		const char *type, *in, *out;
	} rows[] = {
		{"application/json", "{\"k\":\"nej_phBBBBBBBB02\"}",
			"{\"k\":\"k\\\"e&y=real\\\\val 2\"}"},
		{"application/vnd.api+json", "{\"k\":\"nej\\u005fphBBBBBBBB02\"}",
			"{\"k\":\"k\\\"e&y=real\\\\val 2\"}"},
		{"application/x-www-form-urlencoded; charset=utf-8", "k=nej_phBBBBBBBB02&a=b",
			"k=k%22e%26y%3Dreal%5Cval%202&a=b"},
		{"text/plain", "nej_phBBBBBBBB02", "k\"e&y=real\\val 2"},
		{"text/plain", "nothing", "nothing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t cut = 0; cut <= strlen(rows[i].in); cut++) {
			char fields[128] = "Content-Length: 3\r\nContent-Type: ";
			const struct asked asked = {
				.host = "api.test", .target = "/", .fields = fields};
			struct buf out = {0};
			struct answer a;

			strcat(fields, rows[i].type);
			strcat(fields, "\r\n");
			ask(&asked, &a);
			assert_true(inject_is_scrubbed(a.in));
			assert_int_equal(send_body(&a, rows[i].in, cut, &out), 0);
			assert_string_equal(out.data, rows[i].out);
			buf_done(&out);
			done(&a);
		}
}

/* A long value for each placeholder of a body: what would come of it is bounded. */
static void body_does_not_grow_without_bound(void **state)
{
	static char value[NEEDLE_MAX_BYTES], text[16 * 4000 + 1];
	const struct asked asked = {
		.host = "api.test", .target = "/", .fields = "Content-Length: 3\r\n"};
	struct secret large[3] = {items[0], items[1], items[2]};
	struct buf out = {0};
	struct answer a;

	(void)state;
	memset(value, 'v', sizeof(value));
	for (size_t i = 0; i < 4000; i++)
		memcpy(text + 16 * i, items[1].placeholder.ptr, 16);
	large[1].value = (struct secret_text){value, sizeof(value)};
	assert_int_equal(secret_store_set(store, policy, large, 3), 0);
	ask(&asked, &a);
	assert_int_equal(send_body(&a, text, 0, &out), -EBADMSG);
	assert_true(out.len < 2 << 20);
	assert_non_null(strstr(inject_refusal(a.in, -EBADMSG).detail, "too large"));
	buf_done(&out);
	done(&a);
	assert_int_equal(secret_store_set(store, policy, items, 3), 0);
}

static void body_that_leaks_is_cut(void **state)
{
	static const char *const hosts[] = {"gh.test", "evil.test"};
	static const char *const bodies[] = {"a nej_phAAAAAAAA01",
		"bmVqX3BoQUFBQUFBQUEwMQ==", "{\"a\":\"\\u006eej_phAAAAAAAA01\"}",
		"%6E%65%6A_phAAAAAAAA01"};

	(void)state;
	for (size_t h = 0; h < ARRAY_SIZE(hosts); h++)
		for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
			const struct asked asked = {.host = hosts[h],
				.target = "/",
				.fields = "Content-Length: 3\r\n",
				.is_clear = h};
			struct buf out = {0};
			struct answer a;

			ask(&asked, &a);
			assert_int_equal(inject_is_scrubbed(a.in), !h);
			assert_int_equal(send_body(&a, bodies[i], 9, &out), -EPERM);
			assert_non_null(strstr(inject_refusal(a.in, -EPERM).detail, "body"));
			buf_done(&out);
			done(&a);
		}
}

/* --- responses */

static void value_does_not_come_back(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nLocation: /?ghp_real%2Fvalue%2b1\r\n\r\n";
	const struct asked asked = {
		.host = "gh.test", .target = "/", .fields = "A: nej_phAAAAAAAA01\r\n"};
	struct buf scratch = {0}, out = {0};
	struct http1_head head;
	struct sieve *sieve;
	bool is_as_long;
	struct answer a;

	(void)state;
	ask(&asked, &a);
	assert_int_equal(http1_parse_response(text, sizeof(text) - 1, false, &head), 0);
	assert_int_equal(inject_response_head(a.in, &head, &scratch), 0);
	assert_text(head.fields[0].value, "/?nej_phAAAAAAAA01");
	assert_int_equal(inject_response_body(a.in, &head, &sieve, &is_as_long), 0);
	assert_int_equal(sieve_feed(sieve, "[\"ghp_real\\/val", 15, &out), 0);
	assert_int_equal(sieve_feed(sieve, "ue+1\"]", 6, &out), 0);
	assert_int_equal(sieve_finish(sieve, &out), 0);
	assert_string_equal(out.data, "[\"nej_phAAAAAAAA01\"]");
	assert_string_equal(inject_next_reflected(a.in), "GH");
	assert_null(inject_next_reflected(a.in));
	sieve_free(sieve);
	buf_done(&scratch);
	buf_done(&out);
	done(&a);
}

/* --- the store */

static void rotated_secret_is_used_at_once_and_revoked_one_not(void **state)
{
	const struct asked asked = {
		.host = "gh.test", .target = "/", .fields = "A: nej_phAAAAAAAA01\r\n"};
	struct secret fresh[3] = {items[0], items[1], items[2]};
	struct answer old, new;

	(void)state;
	ask(&asked, &old);
	fresh[0].value = (struct secret_text){"another-value", 13};
	assert_int_equal(secret_store_set(store, policy, fresh, 3), 0);
	ask(&asked, &new);
	assert_text(old.head.fields[1].value, "ghp_real/value+1");
	assert_text(new.head.fields[1].value, "another-value");
	done(&new);
	fresh[0].value.len = 0;
	assert_int_equal(secret_store_set(store, policy, fresh, 3), 0);
	ask(&asked, &new);
	assert_int_equal(new.result, -ENOKEY);
	done(&new);
	done(&old);
	assert_int_equal(secret_store_set(store, policy, items, 3), 0);
}

static void unsound_secrets_are_not_taken(void **state)
{
	struct secret bad[3] = {items[0], items[1], items[2]};

	(void)state;
	assert_int_equal(secret_store_set(store, policy, items, 2), -EINVAL);
	bad[0].value = (struct secret_text){"a\r\nX: y", 7};
	assert_int_equal(secret_store_set(store, policy, bad, 3), -EINVAL);
	bad[0] = items[0];
	bad[0].placeholder.len = 7;
	assert_int_equal(secret_store_set(store, policy, bad, 3), -EINVAL);
}

static void secrets_of_another_policy_serve_nobody(void **state)
{
	static const char other[] = "version: 1\nrules:\n  - allow: gh.test\nsecrets:\n"
				    "  X: {env: X, for: [gh.test]}\n";
	struct err_list errs = {0};
	struct policy *mine = policy, *theirs;
	const struct asked asked = {
		.host = "gh.test", .target = "/", .fields = "A: nej_phAAAAAAAA01\r\n"};
	struct answer a;

	(void)state;
	assert_int_equal(policy_load_text(other, sizeof(other) - 1, NULL, &errs, &theirs), 0);
	policy = theirs;
	ask(&asked, &a);
	policy = mine;
	assert_int_equal(a.result, -ENOKEY);
	done(&a);
	policy_free(theirs);
}

static void without_secrets_nothing_is_done(void **state)
{
	static const char none[] = "version: 1\nrules:\n  - allow: gh.test\n";
	struct err_list errs = {0};
	struct policy *plain;
	struct inject_ask inject_ask = {.port = 443};
	struct inject *in = (struct inject *)1;
	struct host host;

	(void)state;
	assert_int_equal(policy_load_text(none, sizeof(none) - 1, NULL, &errs, &plain), 0);
	assert_int_equal(host_parse("gh.test", 7, &host), 0);
	inject_ask.policy = plain;
	inject_ask.host = &host;
	assert_int_equal(inject_new(store, &inject_ask, &in), 0);
	assert_null(in);
	policy_free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholder_becomes_its_value_where_it_may),
		cmocka_unit_test(placeholder_elsewhere_ends_the_request),
		cmocka_unit_test(injection_is_told_once_and_limits_the_answer),
		cmocka_unit_test(body_is_replaced_in_the_language_of_its_type),
		cmocka_unit_test(body_does_not_grow_without_bound),
		cmocka_unit_test(body_that_leaks_is_cut),
		cmocka_unit_test(value_does_not_come_back),
		cmocka_unit_test(rotated_secret_is_used_at_once_and_revoked_one_not),
		cmocka_unit_test(unsound_secrets_are_not_taken),
		cmocka_unit_test(secrets_of_another_policy_serve_nobody),
		cmocka_unit_test(without_secrets_nothing_is_done),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
