/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom nej believes when it verifies an origin: the system's certificate authorities and those the
 * operator added. Read once, before the worker is confined. Internal to user/tls.
 */
#ifndef NEJ_TLS_ROOTS_H
#define NEJ_TLS_ROOTS_H

struct x509_store_st; /* OpenSSL's X509_STORE */

/* The bundle that SSL_CERT_FILE names, else the first of the distributions' paths that exists;
 * NULL when there is none. */
const char *roots_system_bundle(void);

/* Reads PEM files into a store; a NULL or empty entry is passed over. 0 with the store (caller
 * frees), -ENOENT with *ret_path when a file cannot be read, -EINVAL when it holds no certificate. */
int roots_load(const char *const *paths, unsigned int n, struct x509_store_st **ret,
	const char **ret_path);

#endif
