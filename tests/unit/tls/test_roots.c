/* SPDX-License-Identifier: GPL-2.0-only */
/* Roots that are parsed on demand: the right one is found, and no other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/pem.h>

#include "../../../user/tls/ca.h"
#include "../../../user/tls/roots.h"

#define N 3

struct world {
	struct ca *cas[N];
	char path[32];
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	FILE *f;

	strcpy(w->path, "/tmp/nej-roots.XXXXXX");
	f = fdopen(mkstemp(w->path), "w");
	assert_non_null(f);
	fprintf(f, "# a comment, as bundles have them\n");
	for (size_t i = 0; i < N; i++) {
		struct buf der;
		const uint8_t *at;
		X509 *cert;

		/* the first two have one name, but not one key */
		assert_int_equal(ca_new(i < 2 ? "same" : "other", &w->cas[i]), 0);
		buf_init(&der);
		assert_int_equal(ca_print_der(w->cas[i], &der), 0);
		at = (const uint8_t *)der.data;
		cert = d2i_X509(NULL, &at, (long)der.len);
		if (i)
			PEM_write_X509(f, cert);
		X509_free(cert);
		buf_done(&der);
	}
	fclose(f);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < N; i++)
		ca_free(w->cas[i]);
	unlink(w->path);
	free(w);
	return 0;
}

static bool holds(X509_STORE *store, struct ca *ca)
{
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	struct host host;
	X509 *leaf;
	bool is_good;

	host_parse("api.example.com", 15, &host);
	assert_int_equal(ca_leaf(ca, &host, &leaf), 0);
	assert_true(X509_STORE_CTX_init(check, store, leaf, NULL));
	is_good = X509_verify_cert(check) == 1;
	X509_STORE_CTX_free(check);
	X509_free(leaf);
	return is_good;
}

static void chain_leads_to_its_own_root(void **state)
{
	struct world *w = *state;
	const char *paths[] = {NULL, w->path}, *what;
	X509_STORE *store;

	assert_int_equal(roots_load(paths, 2, &store, &what), 0);
	for (int round = 0; round < 2; round++) {
		assert_true(holds(store, w->cas[1]));
		assert_true(holds(store, w->cas[2]));
		/* of the same name as one that is there, but another key */
		assert_false(holds(store, w->cas[0]));
	}
	X509_STORE_free(store);
}

static void unreadable_and_empty_files_are_errors(void **state)
{
	const char *missing[] = {"/nonexistent/roots.pem"}, *empty[] = {"/dev/null"}, *what;
	X509_STORE *store;

	(void)state;
	assert_int_equal(roots_load(missing, 1, &store, &what), -ENOENT);
	assert_string_equal(what, missing[0]);
	assert_int_equal(roots_load(empty, 1, &store, &what), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(chain_leads_to_its_own_root, set_up, tear_down),
		cmocka_unit_test(unreadable_and_empty_files_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
