/* SPDX-License-Identifier: GPL-2.0-only */
/* The certificate a gateway's worker shows its clients, as it comes from the supervisor. */
#ifndef NEJ_SANDBOX_CERTIFICATE_H
#define NEJ_SANDBOX_CERTIFICATE_H

#define CERTIFICATE_MAX_BYTES (256u << 10) /* certificate, chain and key in PEM */

struct certificate; /* the newest, and those before it, whose connections may still be there */
struct session_io;

/* Reads what a memfd holds; nothing at all (/dev/null) changes nothing. 0; -EINVAL and others with
 * *ret_what: then the one before stays. */
int certificate_read(struct certificate **newest, int fd, const char **ret_what);
struct session_io *certificate_io(const struct certificate *c);

#endif
