/* SPDX-License-Identifier: GPL-2.0-only */
/* Certificates; see mint.h. */
#define OPENSSL_SUPPRESS_DEPRECATED /* EC_KEY, see mint_key */
#include "mint.h"

#include <errno.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"

#define SERIAL_BYTES 16

DEFINE_CLEANUP(X509, X509_free);
DEFINE_CLEANUP(EC_KEY, EC_KEY_free);
DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free);
DEFINE_CLEANUP(X509_EXTENSION, X509_EXTENSION_free);

EVP_PKEY *mint_key(void)
{
	_cleanup_(EC_KEY_free_ptr)
	EC_KEY *ec = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	_cleanup_(EVP_PKEY_free_ptr)
	EVP_PKEY *key = EVP_PKEY_new();

	if (!ec || !key || !EC_KEY_generate_key(ec) || !EVP_PKEY_assign_EC_KEY(key, ec))
		return NULL;
	ec = NULL;
	return TAKE_PTR(key);
}

/* SHA-1 of the public point, as RFC 5280 section 4.2.1.2 has it: an identifier, not a digest
 * anybody relies on. */
static bool key_id(EVP_PKEY *key, uint8_t ret[static SHA_DIGEST_LENGTH])
{
	uint8_t *point = NULL;
	size_t len = EVP_PKEY_get1_encoded_public_key(key, &point);

	if (!len)
		return false;
	SHA1(point, len, ret);
	OPENSSL_free(point);
	return true;
}

static X509_EXTENSION *extension(int nid, bool is_critical, const uint8_t *der, size_t len)
{
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	X509_EXTENSION *e = NULL;

	if (value && ASN1_OCTET_STRING_set(value, der, (int)len))
		e = X509_EXTENSION_create_by_NID(NULL, nid, is_critical, value);
	ASN1_OCTET_STRING_free(value);
	return e;
}

static bool add(X509 *cert, int nid, bool is_critical, const uint8_t *der, size_t len)
{
	_cleanup_(X509_EXTENSION_free_ptr)
	X509_EXTENSION *e = extension(nid, is_critical, der, len);

	return e && X509_add_ext(cert, e, -1);
}

static bool set_name(X509_NAME *name, const char *organisation, const char *common)
{
	const uint8_t *o = (const uint8_t *)organisation, *cn = (const uint8_t *)common;

	return X509_NAME_add_entry_by_NID(
		       name, NID_organizationName, MBSTRING_ASC, (uint8_t *)o, -1, -1, 0) &&
		(!cn ||
			X509_NAME_add_entry_by_NID(
				name, NID_commonName, MBSTRING_ASC, (uint8_t *)cn, -1, -1, 0));
}

/* Version, serial number and validity. */
static bool set_frame(X509 *cert, long valid_s)
{
	uint8_t serial[SERIAL_BYTES];

	if (RAND_bytes(serial, sizeof(serial)) != 1)
		return false;
	serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, of full length */
	return X509_set_version(cert, X509_VERSION_3) &&
		ASN1_STRING_set(X509_get_serialNumber(cert), serial, sizeof(serial)) &&
		X509_gmtime_adj(X509_getm_notBefore(cert), -MINT_SKEW_S) &&
		X509_gmtime_adj(X509_getm_notAfter(cert), valid_s);
}

X509 *mint_ca(EVP_PKEY *key, const char *sandbox)
{
	/* CA, no authorities below it; keyCertSign; the key's identifier follows */
	static const uint8_t basic[] = {0x30, 6, 1, 1, 0xff, 2, 1, 0};
	static const uint8_t usage[] = {3, 2, 2, 4};
	uint8_t id[2 + SHA_DIGEST_LENGTH] = {4, SHA_DIGEST_LENGTH};
	_cleanup_(X509_free_ptr)
	X509 *cert = X509_new();
	char common[65]; /* ub-common-name is 64 */

	snprintf(common, sizeof(common), "nej sandbox %s", sandbox);
	if (!cert || !set_frame(cert, MINT_CA_S) || !key_id(key, id + 2) ||
		!set_name(X509_get_subject_name(cert), "nej", common) ||
		!X509_set_issuer_name(cert, X509_get_subject_name(cert)) ||
		!X509_set_pubkey(cert, key) ||
		!add(cert, NID_basic_constraints, true, basic, sizeof(basic)) ||
		!add(cert, NID_key_usage, true, usage, sizeof(usage)) ||
		!add(cert, NID_subject_key_identifier, false, id, sizeof(id)) ||
		!X509_sign(cert, key, EVP_sha256()))
		return NULL;
	return TAKE_PTR(cert);
}

int mint_profile_init(struct mint_profile *p, const X509 *ca, EVP_PKEY *leaf_key)
{
	/* digitalSignature; serverAuth */
	static const uint8_t usage[] = {3, 2, 7, 0x80};
	static const uint8_t purpose[] = {0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1};
	uint8_t own[2 + SHA_DIGEST_LENGTH] = {4, SHA_DIGEST_LENGTH};
	uint8_t above[4 + SHA_DIGEST_LENGTH] = {
		0x30, 2 + SHA_DIGEST_LENGTH, 0x80, SHA_DIGEST_LENGTH};

	*p = (struct mint_profile){0};
	if (!key_id(leaf_key, own + 2) || !key_id(X509_get0_pubkey(ca), above + 4))
		return -EIO;
	p->usage = extension(NID_key_usage, true, usage, sizeof(usage));
	p->purpose = extension(NID_ext_key_usage, false, purpose, sizeof(purpose));
	p->subject_key = extension(NID_subject_key_identifier, false, own, sizeof(own));
	p->authority_key = extension(NID_authority_key_identifier, false, above, sizeof(above));
	if (p->usage && p->purpose && p->subject_key && p->authority_key)
		return 0;
	mint_profile_done(p);
	return -ENOMEM;
}

void mint_profile_done(struct mint_profile *p)
{
	X509_EXTENSION_free(p->usage);
	X509_EXTENSION_free(p->purpose);
	X509_EXTENSION_free(p->subject_key);
	X509_EXTENSION_free(p->authority_key);
	*p = (struct mint_profile){0};
}

/* subjectAltName with one dNSName or iPAddress (RFC 5280 section 4.2.1.6). */
static bool add_name(X509 *cert, const struct host *host)
{
	uint8_t der[6 + HOST_MAX_BYTES];
	const void *value = host->name;
	size_t len = host->len, at = 0;
	uint8_t tag = 0x82;

	if (host->kind == HOST_ADDR && !host->is_embedded) {
		bool is_v4 = addr_is_v4(&host->addr);

		tag = 0x87;
		len = is_v4 ? 4 : 16;
		value = host->addr.b + 16 - len;
	}
	der[at++] = 0x30;
	if (len + 2 > 127)
		der[at++] = 0x81;
	der[at++] = (uint8_t)(len + (len > 127 ? 3 : 2));
	der[at++] = tag;
	if (len > 127)
		der[at++] = 0x81;
	der[at++] = (uint8_t)len;
	memcpy(der + at, value, len);
	return add(cert, NID_subject_alt_name, false, der, at + len);
}

X509 *mint_leaf(const struct mint_profile *p, const X509 *ca, EVP_PKEY *ca_key, EVP_PKEY *leaf_key,
	const struct host *host)
{
	_cleanup_(X509_free_ptr)
	X509 *cert = X509_new();

	if (!cert || !set_frame(cert, MINT_LEAF_S) ||
		!set_name(X509_get_subject_name(cert), "nej intercepted", NULL) ||
		!X509_set_issuer_name(cert, X509_get_subject_name(ca)) ||
		!X509_set_pubkey(cert, leaf_key) || !add_name(cert, host) ||
		!X509_add_ext(cert, p->usage, -1) || !X509_add_ext(cert, p->purpose, -1) ||
		!X509_add_ext(cert, p->subject_key, -1) ||
		!X509_add_ext(cert, p->authority_key, -1) || !X509_sign(cert, ca_key, EVP_sha256()))
		return NULL;
	return TAKE_PTR(cert);
}
