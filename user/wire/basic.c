/* SPDX-License-Identifier: GPL-2.0-only */
/* Basic credentials; see basic.h. */
#include "basic.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base64.h"

#define SCHEME "Basic "
#define SCHEME_BYTES (sizeof(SCHEME) - 1)

void basic_print(const char *name, const char *password, struct buf *out)
{
	struct buf pair;

	buf_init(&pair);
	buf_reserve(&pair, strlen(name) + strlen(password) + 1); /* never moved, so wiped whole */
	buf_add_str(&pair, name);
	buf_add_char(&pair, ':');
	buf_add_str(&pair, password);
	buf_add_str(out, SCHEME);
	base64_encode(pair.data, pair.len, out);
	out->is_failed |= pair.is_failed;
	if (pair.data)
		explicit_bzero(pair.data, pair.cap);
	buf_done(&pair);
}

int basic_parse(struct http1_text field, struct basic *ret)
{
	const char *colon;
	size_t len;

	if (field.len < SCHEME_BYTES || strncasecmp(field.ptr, SCHEME, SCHEME_BYTES) != 0)
		return -EINVAL;
	field.ptr += SCHEME_BYTES;
	field.len -= SCHEME_BYTES;
	while (field.len && *field.ptr == ' ') {
		field.ptr++;
		field.len--;
	}
	if (field.len / 4 * 3 > BASIC_MAX_BYTES ||
		base64_decode(field.ptr, field.len, ret->text, &len) < 0)
		return -EINVAL;
	ret->text[len] = 0;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)ret->text[i] < ' ' || ret->text[i] == 0x7f)
			return -EINVAL;
	colon = memchr(ret->text, ':', len);
	if (!colon)
		return -EINVAL;
	ret->name = ret->text;
	ret->name_len = (size_t)(colon - ret->text);
	ret->password = colon + 1;
	ret->password_len = len - ret->name_len - 1;
	ret->text[ret->name_len] = 0;
	return 0;
}
