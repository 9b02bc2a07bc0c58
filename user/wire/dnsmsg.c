/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads questions and builds replies; see dnsmsg.h. Upstream replies are read in dnsrecord.c. */
#include "dnsmsg.h"

#include <errno.h>

#define FLAG_QR 0x8000
#define FLAG_TC 0x0200
#define FLAG_RD 0x0100
#define FLAG_RA 0x0080
#define FLAG_CD 0x0010
#define OPCODE_MASK 0x7800

#define MAX_LABEL_BYTES 63
#define MAX_WIRE_NAME_BYTES 255
#define MAX_EXTRA_RECORDS 4 /* OPT, a signature, and a margin */
#define OPT_BYTES 11
#define OPT_EDE 15
#define EDE_HEAD_BYTES 6
#define EDNS_SIZE 1232 /* what we take, the flag day's figure */
#define EDNS_DO 0x8000

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p + 2, (uint16_t)v);
}

/* --- questions */

static char lower(uint8_t c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* The name of a question. A pointer there could only lead back into the header: judge and forwarder
 * would read different names. Returns the offset behind it or -EBADMSG. */
static int parse_name(const uint8_t *msg, size_t len, struct dnsmsg_query *q)
{
	size_t at = DNSMSG_HEAD_BYTES, n = 0;

	for (;;) {
		size_t label = at < len ? msg[at++] : MAX_LABEL_BYTES + 1;

		if (!label)
			break;
		if (label > MAX_LABEL_BYTES || at + label > len ||
			at + label - DNSMSG_HEAD_BYTES >= MAX_WIRE_NAME_BYTES)
			return -EBADMSG;
		if (n)
			q->name[n++] = '.';
		for (size_t end = at + label; at < end; at++) {
			if (msg[at] == '.' || !msg[at])
				return -EBADMSG;
			q->name[n++] = lower(msg[at]);
		}
	}
	q->name[n] = '\0';
	q->name_len = (uint8_t)n;
	return (int)at;
}

static int parse_opt(const uint8_t *rec, size_t rdata_len, struct dnsmsg_query *q)
{
	if (q->has_edns) /* RFC 6891 section 6.1.1 */
		return -EBADMSG;
	q->has_edns = true;
	q->edns_size = get16(rec + 2);
	q->edns_version = rec[5];
	q->is_do = get16(rec + 6) & EDNS_DO;
	for (size_t at = 0; at < rdata_len;) {
		if (rdata_len - at < 4)
			return -EBADMSG;
		at += 4 + (size_t)get16(rec + 10 + at + 2);
		if (at > rdata_len)
			return -EBADMSG;
	}
	return 0;
}

/* The additional section: OPT is read, a signature read over; nothing of it goes any further. */
static int parse_extra(const uint8_t *msg, size_t len, size_t at, struct dnsmsg_query *q)
{
	unsigned int n = get16(msg + 10);

	if (n > MAX_EXTRA_RECORDS)
		return -EBADMSG;
	while (n--) {
		char owner[DNSMSG_NAME_BYTES];
		size_t name_at = at, rdata_len;

		if (dnsmsg_read_name(msg, len, at, owner, &at) < 0 || len - at < 10)
			return -EBADMSG;
		rdata_len = get16(msg + at + 8);
		if (rdata_len > len - at - 10)
			return -EBADMSG;
		if (get16(msg + at) == DNSMSG_OPT) {
			if (at != name_at + 1) /* the root, RFC 6891 section 6.1.2 */
				return -EBADMSG;
			if (parse_opt(msg + at, rdata_len, q) < 0)
				return -EBADMSG;
		}
		at += 10 + rdata_len;
	}
	return at == len ? 0 : -EBADMSG;
}

int dnsmsg_parse_query(const uint8_t *msg, size_t len, struct dnsmsg_query *ret)
{
	int at;

	if (len < DNSMSG_HEAD_BYTES)
		return -ENOMSG;
	ret->id = get16(msg);
	ret->flags = get16(msg + 2);
	ret->has_edns = ret->is_do = false;
	ret->edns_version = 0;
	if (ret->flags & FLAG_QR)
		return -ENOMSG;
	if (ret->flags & OPCODE_MASK)
		return -EOPNOTSUPP;
	if (get16(msg + 4) != 1 || get16(msg + 6) || get16(msg + 8))
		return -EBADMSG;
	at = parse_name(msg, len, ret);
	if (at < 0 || len - (size_t)at < 4)
		return -EBADMSG;
	ret->type = get16(msg + at);
	ret->qclass = get16(msg + at + 2);
	ret->question_len = (uint16_t)(at + 4 - DNSMSG_HEAD_BYTES);
	return parse_extra(msg, len, (size_t)at + 4, ret);
}

/* --- replies */

void dnsmsg_reply_init(struct dnsmsg_reply *r, uint8_t *data, size_t limit_bytes,
	const uint8_t *query, const struct dnsmsg_query *q)
{
	size_t len = DNSMSG_HEAD_BYTES + (q ? q->question_len : 0);

	memcpy(data, query, len);
	r->data = data;
	r->len = len;
	r->limit = limit_bytes - (q && q->has_edns ? OPT_BYTES : 0);
	r->n_answers = 0;
	r->is_cut = false;
}

/* Room for one record of the asked name (a pointer to the question); NULL when it does not fit. */
static uint8_t *add_head(struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, size_t rdata_len)
{
	uint8_t *p = r->data + r->len;

	if (r->is_cut || rdata_len > UINT16_MAX || 12 + rdata_len > r->limit - r->len) {
		r->is_cut = true;
		return NULL;
	}
	put16(p, 0xc000 | DNSMSG_HEAD_BYTES);
	put16(p + 2, type);
	put16(p + 4, 1);
	put32(p + 6, ttl_s);
	put16(p + 10, (uint16_t)rdata_len);
	r->len += 12 + rdata_len;
	r->n_answers++;
	return p + 12;
}

void dnsmsg_add_addr(struct dnsmsg_reply *r, const struct addr *a, uint32_t ttl_s)
{
	bool is_v4 = addr_is_v4(a);
	uint8_t *p = add_head(r, is_v4 ? DNSMSG_A : DNSMSG_AAAA, ttl_s, is_v4 ? 4 : 16);

	if (p && is_v4)
		memcpy(p, a->b + 12, 4);
	else if (p)
		memcpy(p, a->b, 16);
}

void dnsmsg_add_record(
	struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const uint8_t *rdata, size_t len)
{
	uint8_t *p = add_head(r, type, ttl_s, len);

	if (p)
		memcpy(p, rdata, len);
}

int dnsmsg_add_name(struct dnsmsg_reply *r, uint16_t type, uint32_t ttl_s, const char *name)
{
	uint8_t wire[MAX_WIRE_NAME_BYTES];
	size_t n = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		if (!label || label > MAX_LABEL_BYTES || n + label + 2 > sizeof(wire))
			return -EINVAL;
		wire[n++] = (uint8_t)label;
		memcpy(wire + n, name, label);
		n += label;
		name += label;
		name += *name == '.';
	}
	wire[n++] = 0;
	dnsmsg_add_record(r, type, ttl_s, wire, n);
	return 0;
}

static void add_opt(struct dnsmsg_reply *r, const struct dnsmsg_query *q, unsigned int rcode,
	int ede, const char *text, size_t text_len)
{
	uint8_t *p = r->data + r->len;
	size_t room = r->limit - r->len, option = 0;

	if (ede >= 0 && room >= EDE_HEAD_BYTES) {
		if (!text || room - EDE_HEAD_BYTES < text_len)
			text_len = 0;
		option = EDE_HEAD_BYTES + text_len;
		put16(p + OPT_BYTES, OPT_EDE);
		put16(p + OPT_BYTES + 2, (uint16_t)(2 + text_len));
		put16(p + OPT_BYTES + 4, (uint16_t)ede);
		if (text_len)
			memcpy(p + OPT_BYTES + EDE_HEAD_BYTES, text, text_len);
	}
	p[0] = 0;
	put16(p + 1, DNSMSG_OPT);
	put16(p + 3, EDNS_SIZE);
	p[5] = (uint8_t)(rcode >> 4);
	p[6] = 0;
	put16(p + 7, q->is_do ? EDNS_DO : 0);
	put16(p + 9, (uint16_t)option);
	r->len += OPT_BYTES + option;
}

size_t dnsmsg_reply_end(struct dnsmsg_reply *r, const struct dnsmsg_query *q,
	enum dnsmsg_rcode rcode, enum dnsmsg_ede ede, const char *text, size_t text_len)
{
	uint16_t flags = get16(r->data + 2);

	flags = (flags & (OPCODE_MASK | FLAG_RD | FLAG_CD)) | FLAG_QR | FLAG_RA | (rcode & 15) |
		(r->is_cut ? FLAG_TC : 0);
	put16(r->data + 2, flags);
	put16(r->data + 4, q ? 1 : 0);
	put16(r->data + 6, r->n_answers);
	put16(r->data + 8, 0);
	put16(r->data + 10, q && q->has_edns);
	if (q && q->has_edns)
		add_opt(r, q, rcode, ede, text, text_len);
	return r->len;
}
