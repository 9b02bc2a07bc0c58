/* SPDX-License-Identifier: GPL-2.0-only */
/* Which roots are gathered, and what stands in the trust files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/file.h"
#include "../../../user/sandbox/anchors.h"
#include "../../../user/sandbox/options.h"
#include "../../../user/tls/bundle.h"

static EVP_PKEY *key;
static char dir[] = "/tmp/nej-anchors-XXXXXX";

static void make_der(const char *name, struct buf *der)
{
	X509 *x = X509_new();
	unsigned char *at = NULL;
	int len;

	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_sign(x, key, EVP_sha256());
	len = i2d_X509(x, &at);
	buf_add(der, at, (size_t)len);
	OPENSSL_free(at);
	X509_free(x);
}

/* A PEM file of one authority; its text is the caller's. */
static char *make_file(const char *name, char path[static 64])
{
	struct buf der = {0}, pem = {0};

	make_der(name, &der);
	bundle_add_der(&pem, der.data, der.len);
	snprintf(path, 64, "%s/%s.pem", dir, name);
	assert_int_equal(file_replace(path, pem.data, pem.len, 0600), 0);
	buf_done(&der);
	return pem.data;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void roots_of_all_sources_are_joined_once(void **state)
{
	char named[64], extra[64], empty[64];
	_cleanup_free_ char *a = make_file("named", named), *b = make_file("extra", extra);
	const char *files[] = {extra};
	struct anchors anchors = {.fds = {-1, -1, -1}};

	(void)state;
	snprintf(empty, sizeof(empty), "%s/empty.pem", dir);
	assert_int_equal(file_replace(empty, "nothing", 7, 0600), 0);
	setenv("SSL_CERT_FILE", named, 1);
	setenv("AWS_CA_BUNDLE", named, 1);
	setenv("PIP_CERT", empty, 1);
	assert_int_equal(anchors_collect(files, 1, &anchors), 0);
	assert_int_equal(count(anchors.roots.data, a), 1);
	assert_int_equal(count(anchors.roots.data, b), 1);
	/* the system's are there too, where there are any */
	if (bundle_find_system())
		assert_true(count(anchors.roots.data, "-----BEGIN CERTIFICATE-----") > 2);
	anchors_done(&anchors);

	files[0] = empty;
	anchors = (struct anchors){.fds = {-1, -1, -1}};
	assert_int_equal(anchors_collect(files, 1, &anchors), SANDBOX_EXIT_USAGE);
	anchors_done(&anchors);
	files[0] = "/nowhere/at/all.pem";
	anchors = (struct anchors){.fds = {-1, -1, -1}};
	assert_int_equal(anchors_collect(files, 1, &anchors), SANDBOX_EXIT_USAGE);
	anchors_done(&anchors);
	unsetenv("SSL_CERT_FILE");
	unsetenv("AWS_CA_BUNDLE");
	unsetenv("PIP_CERT");
}

static size_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (size_t)st.st_size;
}

static void a_new_authority_takes_the_old_ones_place(void **state)
{
	struct anchors anchors = {.fds = {-1, -1, -1}};
	struct buf long_der = {0}, short_der = {0}, root = {0};
	char path[64], text[4096], hash[ANCHORS_HASH_BYTES];
	ssize_t n;

	(void)state;
	make_der("an authority with a name that is long", &long_der);
	make_der("short", &short_der);
	make_der("root", &root);
	bundle_add_der(&anchors.roots, root.data, root.len);
	for (size_t i = 0; i < ANCHORS_COUNT; i++) {
		snprintf(path, sizeof(path), "%s/file-XXXXXX", dir);
		anchors.fds[i] = mkstemp(path);
		assert_true(anchors.fds[i] >= 0);
	}
	assert_int_equal(anchors_write(&anchors, long_der.data, long_der.len), 0);
	memcpy(hash, anchors.hash, sizeof(hash));
	assert_int_equal(strspn(hash, "0123456789abcdef"), 8);
	assert_int_equal(anchors_write(&anchors, short_der.data, short_der.len), 0);
	assert_string_not_equal(hash, anchors.hash);
	assert_int_equal(size_of(anchors.fds[ANCHORS_BUNDLE]),
		anchors.roots.len + size_of(anchors.fds[ANCHORS_CA]));
	n = pread(anchors.fds[ANCHORS_BUNDLE], text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = 0;
	assert_int_equal(count(text, "-----BEGIN CERTIFICATE-----"), 2);
	assert_memory_equal(text, anchors.roots.data, anchors.roots.len);
	/* what is no certificate changes nothing */
	assert_int_equal(anchors_write(&anchors, "nonsense", 8), -EINVAL);
	assert_int_equal(size_of(anchors.fds[ANCHORS_BUNDLE]), n);
	anchors_done(&anchors);
	buf_done(&long_der);
	buf_done(&short_der);
	buf_done(&root);
}

static void readers_of_a_file_are_known(void **state)
{
	static const struct {
		mode_t dir, file;
		uid_t uid;
		gid_t gid;
		int is_readable;
	} rows[] = {
		{0755, 0644, 65534, 65534, 1},
		{0755, 0640, 65534, 65534, 0},
		{0755, 0640, 65534, 0, 1},
		{0700, 0644, 65534, 65534, 0},
		{0750, 0644, 65534, 0, 1},
		{0700, 0600, 0, 0, 1},
		{0711, 0604, 65534, 65534, 1},
		{0755, 0604, 65534, 0, 0},
	};
	char path[64];

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/read", dir);
	assert_int_equal(file_replace(path, "x", 1, 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		chmod(dir, rows[i].dir);
		chmod(path, rows[i].file);
		assert_int_equal(
			file_is_readable_by(path, rows[i].uid, rows[i].gid), rows[i].is_readable);
	}
	assert_int_equal(file_is_readable_by("/nowhere/at/all", 0, 0), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_of_all_sources_are_joined_once),
		cmocka_unit_test(a_new_authority_takes_the_old_ones_place),
		cmocka_unit_test(readers_of_a_file_are_known),
	};
	char command[64];
	int r;

	if (!mkdtemp(dir))
		return 1;
	key = EVP_EC_gen("P-256");
	r = cmocka_run_group_tests(tests, NULL, NULL);
	EVP_PKEY_free(key);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? 1 : r;
}
