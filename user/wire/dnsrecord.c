/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The upstream half of dnsmsg.h: names with compression, answer records, alias chains, and rdata
 * encoded anew after a table of formats. Read dnsmsg.c for questions and replies.
 */
#include "dnsmsg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"

#define MAX_LABEL_BYTES 63
#define MAX_NAME_TEXT_BYTES 253
#define CLASS_IN 1

/* SvcParamKeys, RFC 9460 section 14.3.2 */
#define SVC_MANDATORY 0
#define SVC_PORT 3 /* the highest that is passed on; 1 alpn, 2 no-default-alpn */

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

int dnsmsg_read_name(const uint8_t *msg, size_t len, size_t at, char ret[static DNSMSG_NAME_BYTES],
	size_t *ret_next)
{
	size_t n = 0, next = 0, limit = len;

	for (;;) {
		uint8_t label;

		if (at >= limit)
			return -EBADMSG;
		label = msg[at++];
		if (!label)
			break;
		if (label >= 0xc0) {
			size_t to;

			if (at >= limit)
				return -EBADMSG;
			to = (size_t)(label & 0x3f) << 8 | msg[at++];
			if (!next)
				next = at;
			/* strictly backwards, and never over this pointer again: no loop */
			limit = at - 2;
			if (to >= limit)
				return -EBADMSG;
			at = to;
			continue;
		}
		if (label > MAX_LABEL_BYTES || label > limit - at ||
			n + label + 1 > MAX_NAME_TEXT_BYTES)
			return -EBADMSG;
		if (n)
			ret[n++] = '.';
		for (size_t end = at + label; at < end; at++) {
			if (msg[at] == '.' || !msg[at])
				return -EBADMSG;
			ret[n++] =
				(char)(msg[at] >= 'A' && msg[at] <= 'Z' ? msg[at] | 0x20 : msg[at]);
		}
	}
	ret[n] = '\0';
	*ret_next = next ? next : at;
	return 0;
}

/* --- answer sections */

int dnsmsg_read_start(struct dnsmsg_reader *r, const uint8_t *msg, size_t len)
{
	char name[DNSMSG_NAME_BYTES];
	size_t next;

	if (len < DNSMSG_HEAD_BYTES || !(msg[2] & 0x80) || get16(msg + 4) != 1)
		return -EBADMSG;
	if (dnsmsg_read_name(msg, len, DNSMSG_HEAD_BYTES, name, &next) < 0 || len - next < 4)
		return -EBADMSG;
	*r = (struct dnsmsg_reader){.msg = msg,
		.len = len,
		.at = next + 4,
		.n_left = get16(msg + 6),
		.rcode = msg[3] & 0xf};
	return 0;
}

int dnsmsg_read_next(struct dnsmsg_reader *r, struct dnsmsg_record *ret)
{
	while (r->n_left) {
		const uint8_t *fixed;
		size_t next;

		r->n_left--;
		if (dnsmsg_read_name(r->msg, r->len, r->at, ret->owner, &next) < 0 ||
			r->len - next < 10)
			return -EBADMSG;
		fixed = r->msg + next;
		ret->type = get16(fixed);
		/* RFC 2181 section 8: the top bit set means zero */
		ret->ttl_s = get32(fixed + 4) >> 31 ? 0 : get32(fixed + 4);
		ret->rdata_at = next + 10;
		ret->rdata_len = get16(fixed + 8);
		if (ret->rdata_len > r->len - ret->rdata_at)
			return -EBADMSG;
		r->at = ret->rdata_at + ret->rdata_len;
		if (get16(fixed + 2) == CLASS_IN)
			return 1;
	}
	return 0;
}

/* The alias of a name in an answer section. 1 found, 0 none, -EBADMSG. */
static int find_alias(const uint8_t *msg, size_t len, const char *name,
	char ret[static DNSMSG_NAME_BYTES], uint32_t *ret_ttl_s)
{
	struct dnsmsg_reader r;
	struct dnsmsg_record rec;
	size_t next;
	int n = dnsmsg_read_start(&r, msg, len);

	if (n < 0)
		return n;
	while ((n = dnsmsg_read_next(&r, &rec)) > 0) {
		if (rec.type != DNSMSG_CNAME || strcmp(rec.owner, name))
			continue;
		*ret_ttl_s = rec.ttl_s;
		n = dnsmsg_read_name(msg, len, rec.rdata_at, ret, &next);
		return n < 0 || next != rec.rdata_at + rec.rdata_len ? -EBADMSG : 1;
	}
	return n;
}

int dnsmsg_read_chain(const uint8_t *msg, size_t len, const char *name, struct dnsmsg_chain *ret)
{
	char alias[DNSMSG_NAME_BYTES];
	uint32_t ttl_s;

	ret->len = 0;
	ret->last = name;
	ret->ttl_s = UINT32_MAX;
	for (int i = 0; i <= DNSMSG_MAX_ALIASES; i++) {
		int n = find_alias(msg, len, ret->last, alias, &ttl_s);
		size_t size;

		if (n <= 0)
			return n;
		size = strlen(alias) + 1;
		if (size > sizeof(ret->names) - ret->len)
			return -ELOOP;
		memcpy(ret->names + ret->len, alias, size);
		ret->last = ret->names + ret->len;
		ret->len += size;
		if (ttl_s < ret->ttl_s)
			ret->ttl_s = ttl_s;
	}
	return -ELOOP;
}

/* --- rdata, encoded anew */

/* What rdata of a type is made of: N a name, 1 2 4 that many bytes, S strings to the end, B bytes to
 * the end. */
static const struct {
	uint16_t type;
	const char *format;
} formats[] = {
	{DNSMSG_NS, "N"}, {DNSMSG_CNAME, "N"}, {DNSMSG_SOA, "NN44444"}, {DNSMSG_PTR, "N"},
	{DNSMSG_MX, "2N"}, {DNSMSG_TXT, "S"}, {DNSMSG_SRV, "222N"}, {257, "B"}, /* CAA */
};

static const char *format_of(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].type == type)
			return formats[i].format;
	return NULL;
}

bool dnsmsg_is_known(uint16_t type)
{
	return type == DNSMSG_SVCB || type == DNSMSG_HTTPS || format_of(type);
}

struct rdata {
	const uint8_t *msg;
	size_t len, at, end;
	uint8_t *out;
	size_t n, cap;
};

static int copy(struct rdata *d, size_t n)
{
	if (n > d->end - d->at)
		return -EBADMSG;
	if (n > d->cap - d->n)
		return -ENOSPC;
	memcpy(d->out + d->n, d->msg + d->at, n);
	d->at += n;
	d->n += n;
	return 0;
}

/* A name, in full: an answer is built anew, what a pointer of the old one meant is gone. */
static int copy_name(struct rdata *d)
{
	char text[DNSMSG_NAME_BYTES];
	size_t next;

	if (dnsmsg_read_name(d->msg, d->len, d->at, text, &next) < 0 || next > d->end)
		return -EBADMSG;
	d->at = next;
	for (const char *label = text; *label;) {
		size_t n = strcspn(label, ".");

		if (n + 1 > d->cap - d->n)
			return -ENOSPC;
		d->out[d->n++] = (uint8_t)n;
		memcpy(d->out + d->n, label, n);
		d->n += n;
		label += n + (label[n] == '.');
	}
	if (d->n == d->cap)
		return -ENOSPC;
	d->out[d->n++] = 0;
	return 0;
}

static int copy_strings(struct rdata *d)
{
	int r = 0;

	while (d->at < d->end && r == 0)
		r = copy(d, (size_t)d->msg[d->at] + 1);
	return r;
}

static int copy_format(struct rdata *d, const char *format)
{
	int r = 0;

	for (; *format && r == 0; format++) {
		if (*format == 'N')
			r = copy_name(d);
		else if (*format == 'S')
			r = copy_strings(d);
		else if (*format == 'B')
			r = copy(d, d->end - d->at);
		else
			r = copy(d, (size_t)(*format - '0'));
	}
	return r < 0 ? r : d->at == d->end ? 0 : -EBADMSG;
}

/* A mandatory list may name only what stays (RFC 9460 section 8). */
static bool is_mandatory_kept(const uint8_t *keys, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		if (get16(keys + i) > SVC_PORT)
			return false;
	return len % 2 == 0;
}

static int copy_service(struct rdata *d)
{
	int r = copy(d, 2);

	if (r == 0)
		r = copy_name(d);
	while (r == 0 && d->at < d->end) {
		size_t len;
		uint16_t key;

		if (d->end - d->at < 4)
			return -EBADMSG;
		key = get16(d->msg + d->at);
		len = get16(d->msg + d->at + 2);
		if (len > d->end - d->at - 4)
			return -EBADMSG;
		if (key == SVC_MANDATORY && !is_mandatory_kept(d->msg + d->at + 4, len))
			return -ENODATA;
		if (key <= SVC_PORT)
			r = copy(d, 4 + len);
		else
			d->at += 4 + len;
	}
	return r;
}

int dnsmsg_rebuild(
	const uint8_t *msg, size_t len, const struct dnsmsg_record *rec, uint8_t *out, size_t cap)
{
	struct rdata d = {.msg = msg,
		.len = len,
		.at = rec->rdata_at,
		.end = rec->rdata_at + rec->rdata_len,
		.out = out,
		.cap = cap};
	int r;

	if (!dnsmsg_is_known(rec->type))
		return -ENOTSUP;
	r = format_of(rec->type) ? copy_format(&d, format_of(rec->type)) : copy_service(&d);
	return r < 0 ? r : (int)d.n;
}

int dnsmsg_read_target(const uint8_t *msg, size_t len, const struct dnsmsg_record *rec,
	char ret[static DNSMSG_NAME_BYTES])
{
	size_t next;

	if (rec->rdata_len < 3 || dnsmsg_read_name(msg, len, rec->rdata_at + 2, ret, &next) < 0 ||
		next > rec->rdata_at + rec->rdata_len)
		return -EBADMSG;
	return 0;
}

/* --- reversed addresses (RFC 1035 section 3.5, RFC 3596 section 2.5) */

static bool ends_with(const char *name, const char *zone, size_t *ret_len)
{
	size_t n = strlen(name), z = strlen(zone);

	if (n < z || strcmp(name + n - z, zone) || (n > z && name[n - z - 1] != '.'))
		return false;
	*ret_len = n > z ? n - z - 1 : 0;
	return true;
}

static int reverse4(const char *name, size_t len, struct addr *ret)
{
	char text[32];
	unsigned int b[4];
	int used = 0;

	if (!len || len >= sizeof(text))
		return -EINVAL;
	memcpy(text, name, len);
	text[len] = '\0';
	if (strspn(text, "0123456789.") != len ||
		sscanf(text, "%3u.%3u.%3u.%3u%n", &b[3], &b[2], &b[1], &b[0], &used) != 4 ||
		(size_t)used != len || b[0] > 255 || b[1] > 255 || b[2] > 255 || b[3] > 255)
		return -EINVAL;
	*ret = addr_from_v4(b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]);
	return 0;
}

static int reverse6(const char *name, size_t len, struct addr *ret)
{
	struct addr a = {{0}};

	if (len != 63)
		return -EINVAL;
	for (size_t i = 0; i < 32; i++) {
		char c = name[2 * i];
		unsigned int v;

		if (i < 31 && name[2 * i + 1] != '.')
			return -EINVAL;
		if (c >= '0' && c <= '9')
			v = (unsigned int)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = (unsigned int)(c - 'a' + 10);
		else
			return -EINVAL;
		a.b[15 - i / 2] |= (uint8_t)(i % 2 ? v << 4 : v);
	}
	*ret = a;
	return 0;
}

int dnsmsg_parse_reverse(const char *name, struct addr *ret)
{
	size_t len;

	if (ends_with(name, "in-addr.arpa", &len))
		return reverse4(name, len, ret);
	if (ends_with(name, "ip6.arpa", &len))
		return reverse6(name, len, ret);
	return -ENOENT;
}
