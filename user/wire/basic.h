/* SPDX-License-Identifier: GPL-2.0-only */
/* Credentials of the scheme Basic as they stand in Proxy-Authorization, RFC 7617. Pure. */
#ifndef NEJ_WIRE_BASIC_H
#define NEJ_WIRE_BASIC_H

#include "http1.h"

#define BASIC_MAX_BYTES 2304 /* of a name, a colon and a password */

struct basic {
	const char *name, *password; /* point into text; NUL-terminated */
	size_t name_len, password_len;
	char text[BASIC_MAX_BYTES + 1];
};

/* Appends `Basic` and the encoded pair. */
void basic_print(const char *name, const char *password, struct buf *out);

/* The value of the field. 0 or -EINVAL: another scheme, not base64, no colon, a control character,
 * too long. The caller wipes *ret, also after a failure. */
int basic_parse(struct http1_text field, struct basic *ret);

#endif
