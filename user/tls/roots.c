/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The roots for origins; see roots.h. A system has 140 of them, of which a sandbox meets three:
 * their bytes are kept, and one is parsed when a chain leads to its name.
 */
#include "roots.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"

DEFINE_CLEANUP(X509_STORE, X509_STORE_free);

const char *roots_system_bundle(void)
{
	/* Debian, Arch, Gentoo; Fedora, RHEL; openSUSE; Alpine; and their old places */
	static const char *const paths[] = {"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
	const char *named = getenv("SSL_CERT_FILE");

	if (named && *named)
		return named;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (access(paths[i], R_OK) == 0)
			return paths[i];
	return NULL;
}

/* --- certificates that are parsed when a chain asks for them */

struct entry {
	unsigned long hash;     /* X509_NAME_hash of the subject */
	size_t at, len;         /* in der */
	_Atomic bool is_parsed; /* the store has it */
};

struct shelf {
	struct buf der;
	struct buf entries; /* struct entry */
};

static void shelf_free(struct shelf *shelf)
{
	buf_done(&shelf->der);
	buf_done(&shelf->entries);
	free(shelf);
}

DEFINE_CLEANUP(struct shelf, shelf_free);

/* The subject of a certificate without parsing its key, which is what costs: RFC 5280 section 4.1,
 * [version] serialNumber signature issuer validity subject. NULL: not a certificate. */
static X509_NAME *subject_of(const uint8_t *der, size_t len)
{
	const uint8_t *at = der, *end = der + len;
	long n;
	int tag, class;

	for (int depth = 0; depth < 2; depth++) /* Certificate, TBSCertificate */
		if (ASN1_get_object(&at, &n, &tag, &class, end - at) & 0x80 ||
			tag != V_ASN1_SEQUENCE)
			return NULL;
	for (int i = 0; i < 4; i++) { /* serialNumber to validity */
		if (ASN1_get_object(&at, &n, &tag, &class, end - at) & 0x80)
			return NULL;
		at += n;
		if (i == 0 && class == V_ASN1_CONTEXT_SPECIFIC)
			i = -1; /* the version: what counts comes behind it */
	}
	return d2i_X509_NAME(NULL, &at, end - at);
}

static int shelve(struct shelf *shelf, const uint8_t *der, size_t len)
{
	struct entry e = {.at = shelf->der.len, .len = len};
	X509_NAME *subject = subject_of(der, len);
	int is_known = 0;

	if (!subject)
		return -EINVAL;
	e.hash = X509_NAME_hash_ex(subject, NULL, NULL, &is_known);
	X509_NAME_free(subject);
	buf_add(&shelf->der, der, len);
	buf_add(&shelf->entries, &e, sizeof(e));
	return is_known && !shelf->der.is_failed && !shelf->entries.is_failed ? 0 : -ENOMEM;
}

/* The store asks for what it has not: every certificate of that hash goes in, for good. */
static int on_wanted(
	X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *ret)
{
	struct shelf *shelf = X509_LOOKUP_get_method_data(lookup);
	X509_STORE *store = X509_LOOKUP_get_store(lookup);
	struct entry *entries = (struct entry *)(void *)shelf->entries.data;
	unsigned long hash = X509_NAME_hash_ex(name, NULL, NULL, NULL);
	int found = 0;

	for (size_t i = 0; type == X509_LU_X509 && i < shelf->entries.len / sizeof(*entries); i++) {
		const uint8_t *der = (const uint8_t *)shelf->der.data + entries[i].at;
		X509 *cert;

		if (entries[i].hash != hash || entries[i].is_parsed)
			continue;
		cert = d2i_X509(NULL, &der, (long)entries[i].len);
		if (cert && X509_STORE_add_cert(store, cert))
			entries[i].is_parsed = true;
		/* the store's reference stays; the caller takes one of its own */
		if (cert && !X509_NAME_cmp(X509_get_subject_name(cert), name))
			found = X509_OBJECT_set1_X509(ret, cert);
		if (found)
			X509_free(cert);
		X509_free(cert);
		if (found)
			break;
	}
	ERR_clear_error();
	return found;
}

static void on_free(X509_LOOKUP *lookup)
{
	struct shelf *shelf = X509_LOOKUP_get_method_data(lookup);

	if (shelf)
		shelf_free(shelf);
}

static X509_LOOKUP_METHOD *lazily;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_method(void)
{
	lazily = X509_LOOKUP_meth_new("certificates parsed on demand");
	if (!lazily)
		return;
	X509_LOOKUP_meth_set_get_by_subject(lazily, on_wanted);
	X509_LOOKUP_meth_set_free(lazily, on_free);
}

/* --- reading */

/* How many certificates the file has, or negative errno. */
static int read_file(struct shelf *shelf, const char *path)
{
	char *name, *header;
	unsigned char *der;
	int n = 0, r = 0;
	long len;
	BIO *in = BIO_new_file(path, "r");

	if (!in)
		return errno ? -errno : -EIO;
	while (r == 0 && PEM_read_bio(in, &name, &header, &der, &len)) {
		if (!strcmp(name, PEM_STRING_X509) || !strcmp(name, PEM_STRING_X509_OLD) ||
			!strcmp(name, PEM_STRING_X509_TRUSTED)) {
			r = shelve(shelf, der, (size_t)len);
			n++;
		}
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_free(der);
	}
	BIO_free(in);
	ERR_clear_error();
	return r < 0 ? r : n ? n : -EINVAL;
}

int roots_load(const char *const *paths, unsigned int n, X509_STORE **ret, const char **ret_path)
{
	_cleanup_(X509_STORE_free_ptr)
	X509_STORE *store = X509_STORE_new();
	_cleanup_(shelf_free_ptr)
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	X509_LOOKUP *lookup;

	pthread_once(&once, make_method);
	if (!store || !shelf || !lazily)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		int r;

		if (!paths[i] || !*paths[i])
			continue;
		*ret_path = paths[i];
		r = read_file(shelf, paths[i]);
		if (r < 0)
			return r;
	}
	lookup = X509_STORE_add_lookup(store, lazily);
	if (!lookup || !X509_LOOKUP_set_method_data(lookup, shelf))
		return -ENOMEM;
	shelf = NULL;
	/* a certificate the operator trusts is trusted, though it be no root (as curl has it) */
	X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	*ret = TAKE_PTR(store);
	return 0;
}
