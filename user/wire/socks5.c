/* SPDX-License-Identifier: GPL-2.0-only */
/* SOCKS5 messages; see socks5.h. */
#include "socks5.h"

#include <errno.h>
#include <string.h>

#define VERSION 5
#define PASSWORD_VERSION 1
#define COMMAND_CONNECT 1

enum address_type {
	ADDRESS_V4 = 1,
	ADDRESS_NAME = 3,
	ADDRESS_V6 = 4,
};

int socks5_parse_greeting(const uint8_t *data, size_t len_bytes, enum socks5_method *ret)
{
	size_t n;

	if (len_bytes && data[0] != VERSION)
		return -EBADMSG;
	if (len_bytes < 2)
		return 0;
	n = data[1];
	if (!n)
		return -EBADMSG;
	if (len_bytes < 2 + n)
		return 0;
	*ret = SOCKS5_NONE_FITS;
	if (memchr(data + 2, SOCKS5_NO_AUTH, n))
		*ret = SOCKS5_NO_AUTH;
	else if (memchr(data + 2, SOCKS5_PASSWORD, n))
		*ret = SOCKS5_PASSWORD;
	return (int)(2 + n);
}

int socks5_parse_password(const uint8_t *data, size_t len_bytes)
{
	size_t n;

	if (len_bytes && data[0] != PASSWORD_VERSION)
		return -EBADMSG;
	if (len_bytes < 2)
		return 0;
	n = 2u + data[1];
	if (len_bytes < n + 1)
		return 0;
	n += 1u + data[n];
	return len_bytes < n ? 0 : (int)n;
}

static int parse_name(const uint8_t *data, size_t len, struct host *ret)
{
	size_t n = data[4];

	if (len < 5 + n + 2)
		return 0;
	if (host_parse((const char *)data + 5, n, ret) < 0)
		return -EINVAL;
	return (int)(5 + n + 2);
}

static int parse_addr(const uint8_t *data, size_t len, size_t bytes, struct host *ret)
{
	struct addr a = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};

	if (len < 4 + bytes + 2)
		return 0;
	memcpy(a.b + sizeof(a.b) - bytes, data + 4, bytes);
	host_from_addr(&a, ret);
	return (int)(4 + bytes + 2);
}

int socks5_parse_request(
	const uint8_t *data, size_t len_bytes, struct host *ret, uint16_t *ret_port)
{
	int n;

	if ((len_bytes && data[0] != VERSION) || (len_bytes > 2 && data[2]))
		return -EBADMSG;
	if (len_bytes < 5)
		return 0;
	if (data[1] != COMMAND_CONNECT)
		return -EOPNOTSUPP;
	if (data[3] == ADDRESS_NAME)
		n = parse_name(data, len_bytes, ret);
	else if (data[3] == ADDRESS_V4)
		n = parse_addr(data, len_bytes, 4, ret);
	else if (data[3] == ADDRESS_V6)
		n = parse_addr(data, len_bytes, 16, ret);
	else
		return -EAFNOSUPPORT;
	if (n <= 0)
		return n;
	*ret_port = (uint16_t)(data[n - 2] << 8 | data[n - 1]);
	return *ret_port ? n : -EINVAL;
}

void socks5_print_reply(enum socks5_reply reply, uint8_t out[static SOCKS5_REPLY_BYTES])
{
	memset(out, 0, SOCKS5_REPLY_BYTES);
	out[0] = VERSION;
	out[1] = (uint8_t)reply;
	out[3] = ADDRESS_V4;
}
