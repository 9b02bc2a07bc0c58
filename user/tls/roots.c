/* SPDX-License-Identifier: GPL-2.0-only */
/* The roots for origins; see roots.h. */
#include "roots.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <unistd.h>

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

int roots_load(const char *const *paths, unsigned int n, X509_STORE **ret, const char **ret_path)
{
	_cleanup_(X509_STORE_free_ptr)
	X509_STORE *store = X509_STORE_new();

	if (!store)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		if (!paths[i] || !*paths[i])
			continue;
		*ret_path = paths[i];
		if (access(paths[i], R_OK) < 0)
			return -errno;
		if (!X509_STORE_load_file(store, paths[i])) {
			ERR_clear_error();
			return -EINVAL;
		}
	}
	/* a certificate the operator trusts is trusted, though it be no root (as curl has it) */
	X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	*ret = TAKE_PTR(store);
	return 0;
}
