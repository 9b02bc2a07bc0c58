/* SPDX-License-Identifier: GPL-2.0-only */
/* The one user of libidn2; see idn.h. */
#include "idn.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <idn2.h>

int idn_to_ascii(const char *s, size_t len_bytes, char out[static IDN_MAX_BYTES])
{
	char text[1024];
	char *ascii = NULL;
	int r;

	if (!len_bytes || len_bytes >= sizeof(text) || memchr(s, 0, len_bytes))
		return -EINVAL;
	memcpy(text, s, len_bytes);
	text[len_bytes] = 0;
	r = idn2_to_ascii_8z(text, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (r != IDN2_OK)
		return r == IDN2_MALLOC ? -ENOMEM : -EINVAL;
	r = strlen(ascii) < IDN_MAX_BYTES ? 0 : -EINVAL;
	if (!r)
		memcpy(out, ascii, strlen(ascii) + 1);
	idn2_free(ascii);
	return r;
}
