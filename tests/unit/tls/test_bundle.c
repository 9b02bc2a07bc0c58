/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of certificate files on their way into a sandbox, as text and as a Java store. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/file.h"
#include "../../../user/tls/bundle.h"
#include "../../../user/tls/keystore.h"

static EVP_PKEY *key;

/* A self-signed certificate in DER. */
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
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	len = i2d_X509(x, &at);
	assert_true(len > 0);
	buf_add(der, at, (size_t)len);
	OPENSSL_free(at);
	X509_free(x);
}

static void write_file(const char *path, const struct buf *b)
{
	assert_int_equal(file_replace(path, b->data, b->len, 0600), 0);
}

static void authorities_are_added_and_roots_stay(void **state)
{
	char path[] = "/tmp/nej-bundle-XXXXXX";
	struct buf file = {0}, pem = {0}, der = {0}, back = {0};
	const char *at, *end;
	BIO *bio;

	(void)state;
	close(mkstemp(path));
	for (int i = 0; i < 3; i++) {
		buf_clear(&der);
		make_der("root", &der);
		buf_add_str(&file, "# a comment\r\n");
		assert_int_equal(bundle_add_der(&file, der.data, der.len), 0);
	}
	file.len--; /* no newline at the end */
	write_file(path, &file);
	assert_int_equal(bundle_add_file(&pem, path, true), 3);
	buf_clear(&der);
	make_der("sandbox", &der);
	assert_int_equal(bundle_add_der(&pem, der.data, der.len), 0);

	/* OpenSSL finds all four, ours last */
	bio = BIO_new_mem_buf(pem.data, (int)pem.len);
	for (int i = 0; i < 4; i++) {
		X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

		assert_non_null(x);
		X509_free(x);
	}
	assert_null(PEM_read_bio_X509(bio, NULL, NULL, NULL));
	BIO_free(bio);
	at = pem.data;
	end = at + pem.len;
	for (int i = 0; i < 4; i++)
		assert_int_equal(bundle_next(&at, end, &back), 1);
	assert_int_equal(bundle_next(&at, end, &back), 0);
	assert_int_equal(back.len, der.len);
	assert_memory_equal(back.data, der.data, der.len);
	unlink(path);
	buf_done(&file);
	buf_done(&pem);
	buf_done(&der);
	buf_done(&back);
}

static void keys_beside_certificates_stay_out(void **state)
{
	char path[] = "/tmp/nej-bundle-XXXXXX";
	struct buf file = {0}, pem = {0}, der = {0};

	(void)state;
	close(mkstemp(path));
	make_der("root", &der);
	buf_add_str(
		&file, "-----BEGIN PRIVATE KEY-----\nSECRETSECRET\n-----END PRIVATE KEY-----\n");
	bundle_add_der(&file, der.data, der.len);
	buf_add_str(&file, "-----BEGIN EC PRIVATE KEY-----\nSECRET==\n");
	write_file(path, &file);
	assert_int_equal(bundle_add_file(&pem, path, true), 1);
	assert_null(strstr(pem.data, "SECRET"));
	unlink(path);
	buf_done(&file);
	buf_done(&pem);
	buf_done(&der);
}

static void broken_certificates_are_refused(void **state)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{"", 0},
		{"no certificate\n", 0},
		{"-----BEGIN CERTIFICATE-----\nAAAA\n", 0},
		{"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", -EINVAL},
		{"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", -EINVAL},
		{"-----BEGIN CERTIFICATE-----\n?!\n-----END CERTIFICATE-----\n", -EINVAL},
	};
	char path[] = "/tmp/nej-bundle-XXXXXX";

	(void)state;
	close(mkstemp(path));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf file = {0}, pem = {0};

		buf_add_str(&file, rows[i].text);
		write_file(path, &file);
		assert_int_equal(bundle_add_file(&pem, path, true), rows[i].result);
		buf_done(&file);
		buf_done(&pem);
	}
	unlink(path);
	assert_int_equal(bundle_add_file(&(struct buf){0}, path, true), -ENOENT);
}

static uint32_t read_u32(const char **at)
{
	uint32_t v;

	memcpy(&v, *at, sizeof(v));
	*at += sizeof(v);
	return ntohl(v);
}

/* The digest as Java computes it, by other means than the writer's. */
static void expect_digest(const char *data, size_t len)
{
	static const char seed[] = "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite";
	struct buf all = {0};
	unsigned char digest[20];

	buf_add(&all, seed, sizeof(seed) - 1);
	buf_add(&all, data, len - sizeof(digest));
	assert_true(EVP_Digest(all.data, all.len, digest, NULL, EVP_sha1(), NULL) > 0);
	assert_memory_equal(digest, data + len - sizeof(digest), sizeof(digest));
	buf_done(&all);
}

static void java_store_holds_every_certificate(void **state)
{
	struct buf pem = {0}, der = {0}, store = {0};
	const char *at;

	(void)state;
	make_der("root", &der);
	bundle_add_der(&pem, der.data, der.len);
	buf_add_str(&pem, "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n");
	bundle_add_der(&pem, der.data, der.len);
	assert_int_equal(keystore_print(&pem, &store), 2);
	at = store.data;
	assert_int_equal(read_u32(&at), 0xfeedfeed);
	assert_int_equal(read_u32(&at), 2);
	assert_int_equal(read_u32(&at), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(read_u32(&at), 2);
		assert_memory_equal(at, i ? "\0\6root-2" : "\0\6root-1", 8);
		at += 8 + 8;
		assert_memory_equal(at, "\0\5X.509", 7);
		at += 7;
		assert_int_equal(read_u32(&at), der.len);
		assert_memory_equal(at, der.data, der.len);
		at += der.len;
	}
	assert_int_equal(store.data + store.len - at, 20);
	expect_digest(store.data, store.len);
	buf_done(&pem);
	buf_done(&der);
	buf_done(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(authorities_are_added_and_roots_stay),
		cmocka_unit_test(keys_beside_certificates_stay_out),
		cmocka_unit_test(broken_certificates_are_refused),
		cmocka_unit_test(java_store_holds_every_certificate),
	};
	int r;

	key = EVP_EC_gen("P-256");
	r = cmocka_run_group_tests(tests, NULL, NULL);
	EVP_PKEY_free(key);
	return r;
}
