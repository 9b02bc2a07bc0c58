/* SPDX-License-Identifier: GPL-2.0-only */
/* Forward proxies of a policy: which rule uses which, and all that dialling one needs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "policies.h"

#define PEM "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

static const char policy_text[] =
	"upstream:\n"
	"  corp: { url: 'http://proxy.example:3128', username: jo, password: 's:e cret' }\n"
	"  gate: { url: 'https://[2001:db8::1]', connect: name }\n"
	"rules:\n"
	"  - allow: a.example\n"
	"  - { allow: b.example, transport: upstream, via: gate }\n"
	"  - { allow: c.example, transport: upstream, via: corp }\n";

static void rule_has_its_own_upstream(void **state)
{
	struct policy *p = policy_of(policy_text), *q = NULL;
	struct policy_upstream u;

	(void)state;
	assert_int_equal(policy_map(policy_fd(p), &q), 0);
	policy_free(p);
	assert_false(policy_upstream(q, 0, &u));
	assert_false(policy_upstream(q, POLICY_NO_RULE, &u));
	assert_true(policy_upstream(q, 1, &u));
	assert_string_equal(u.name, "gate");
	assert_string_equal(u.host.name, "2001:db8::1");
	assert_int_equal(u.port, 443);
	assert_true(u.is_tls && u.is_by_name);
	assert_int_equal(u.index, 1);
	assert_null(u.username);
	assert_null(u.password);
	assert_null(u.ca_path);
	assert_true(policy_upstream(q, 2, &u));
	assert_string_equal(u.name, "corp");
	assert_string_equal(u.host.name, "proxy.example");
	assert_int_equal(u.port, 3128);
	assert_false(u.is_tls || u.is_by_name);
	assert_string_equal(u.username, "jo");
	assert_string_equal(u.password, "s:e cret");
	policy_free(q);
}

static void the_only_upstream_needs_no_via(void **state)
{
	struct policy *p = policy_of("upstream: { a: { url: 'http://x' } }\n"
				     "rules: [ { allow: b.example, transport: upstream } ]\n");
	struct policy_decision d = ask_connection(p, POLICY_SCHEME_HTTPS, "b.example", 443);
	struct policy_upstream u;

	(void)state;
	assert_int_equal(d.verdict, POLICY_ALLOW);
	assert_int_equal(d.transport, POLICY_TRANSPORT_UPSTREAM);
	assert_true(policy_upstream(p, d.rule, &u));
	assert_int_equal(u.port, 80);
	policy_free(p);
}

/* The worker can open nothing: the certificates come with the policy, and count as part of it. */
static void certificates_travel_in_the_image(void **state)
{
	char dir[] = "/tmp/nej-upstream.XXXXXX", path[64], digest[65];
	static const char text[] = "upstream: { a: { url: 'https://x', ca: ca.pem } }\n"
				   "rules: [ { allow: b.example, transport: upstream } ]\n";
	struct policy_upstream u;
	struct err_list errs;
	struct policy *p = NULL;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ca.pem", dir);
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fprintf(f, "%s%s", PEM, i ? PEM : "");
		fclose(f);
		err_init(&errs, "policy.yaml");
		assert_int_equal(policy_load_text(text, strlen(text), dir, &errs, &p), 0);
		assert_true(policy_upstream(p, 0, &u));
		assert_int_equal(u.ca_len, strlen(PEM) * (size_t)(i + 1));
		assert_memory_equal(u.ca, PEM, strlen(PEM));
		assert_string_equal(u.ca_path, "ca.pem");
		assert_string_equal(policy_list_path(p, 0), "ca.pem");
		if (i)
			assert_string_not_equal(policy_sha256(p), digest);
		memcpy(digest, policy_sha256(p), sizeof(digest));
		policy_free(p);
	}
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_has_its_own_upstream),
		cmocka_unit_test(the_only_upstream_needs_no_via),
		cmocka_unit_test(certificates_travel_in_the_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
