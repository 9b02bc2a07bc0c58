/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Certificates as text (PEM, RFC 7468): gathers the roots of the system and of the operator, and
 * adds the sandbox's authority. Only certificates are taken over from a file, never a key that lies
 * beside them. keystore.h is the same for Java.
 */
#ifndef NEJ_TLS_BUNDLE_H
#define NEJ_TLS_BUNDLE_H

#include <stdbool.h>

#include "../base/buf.h"

#define BUNDLE_MAX_BYTES (16u << 20) /* of one file: -EFBIG */

/* Where distributions keep the bundle of their roots; ends with NULL. */
extern const char *const bundle_system_paths[];
/* The first that exists, NULL if none does. */
const char *bundle_find_system(void);

/* Appends the certificates of a PEM file. wants_sound: each must be one that can be read. How many;
 * -EINVAL for one that cannot; other negative errno. */
int bundle_add_file(struct buf *pem, const char *path, bool wants_sound);

/* Appends one certificate. 0 or -ENOMEM. */
int bundle_add_der(struct buf *pem, const void *der, size_t len_bytes);

/* The hash of its subject by which OpenSSL finds a certificate in a folder: eight digits and a NUL.
 * 0 or -EINVAL. */
int bundle_hash_name(const void *der, size_t len_bytes, char ret[static 9]);

/* Decodes the certificate at *at or behind it and moves *at over it; der is written anew. 1; 0 when
 * there is none; -EINVAL when it is no base64; -ENOMEM. */
int bundle_next(const char **at, const char *end, struct buf *der);

#endif
