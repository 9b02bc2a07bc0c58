/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Java trust store of the certificates of a PEM bundle: the JKS format, which every Java reads
 * whatever its default type is (keystore.type.compat) and which needs no tool to write. Source:
 * sun.security.provider.JavaKeyStore of OpenJDK.
 */
#ifndef NEJ_TLS_KEYSTORE_H
#define NEJ_TLS_KEYSTORE_H

#include "../base/buf.h"

#define KEYSTORE_PASSWORD "changeit" /* what Java's own store has */

/* Appends the store; what is no base64 in the bundle is passed over. How many certificates it has,
 * or negative errno. */
int keystore_print(const struct buf *pem, struct buf *out);

#endif
