/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenSSL's large buffers, which live for one read or one handshake, kept out of the heap: between
 * the small objects of connections that stay they would leave a hole of their size for each. Internal
 * to user/tls.
 */
#ifndef NEJ_TLS_BLOCKS_H
#define NEJ_TLS_BLOCKS_H

#define BLOCKS_BYTES (72u << 10) /* of one: a read buffer of context.c and OpenSSL's overhead */
/* What is smaller stays in the heap; so does an SSL of 7,624 bytes, which lives as long as its
 * connection, unlike all else that OpenSSL makes of these sizes. */
#define BLOCKS_FROM_BYTES 3072
#define BLOCKS_NOT_FROM_BYTES 6144
#define BLOCKS_NOT_TO_BYTES 8192
#define BLOCKS_COUNT 512 /* in use at once; further ones come from the heap */

/* Before the process's first use of OpenSSL; later, or without memory for it, nothing changes. */
void blocks_install(void);

#endif
