/* SPDX-License-Identifier: GPL-2.0-only */
/* The fast encoder of audit records; see json.h. Room is made once a record, then only pointers move. */
#include "json.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "../base/clock.h"

/* All keys, numbers and words of a record, and a plain text of any of its fields. */
#define MAX_FIXED_BYTES 1536

#define PUT(b, literal) put((b), (literal), sizeof(literal) - 1)

/* Room has been made. */
static inline void put(struct buf *b, const char *s, size_t len)
{
	memcpy(b->data + b->len, s, len);
	b->len += len;
}

static inline void put_str(struct buf *b, const char *s)
{
	put(b, s, strlen(s));
}

static inline void put_u64(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put(b, digits + n, sizeof(digits) - n);
}

static inline void put_number_or_null(struct buf *b, uint64_t v)
{
	if (v)
		put_u64(b, v);
	else
		PUT(b, "null");
}

static bool is_plain(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return true;
}

/* Texts of outsiders: mostly plain ones, which need no escape. */
static void add_text(struct buf *b, struct audit_text t, size_t max_bytes)
{
	char cut[AUDIT_MAX_URL + AUDIT_CUT_BYTES];

	if (!t.ptr) {
		buf_add(b, "null", 4);
	} else if (t.len <= max_bytes + AUDIT_CUT_BYTES && is_plain(t.ptr, t.len)) {
		if (buf_reserve(b, t.len + MAX_FIXED_BYTES) < 0)
			return;
		PUT(b, "\"");
		put(b, t.ptr, t.len);
		PUT(b, "\"");
	} else if (t.len <= max_bytes + AUDIT_CUT_BYTES) { /* the ring has cut it already */
		buf_add_json(b, t.ptr, t.len, t.len);
	} else {
		size_t len = audit_text_cut(t, max_bytes, cut);

		buf_add_json(b, cut, len, len);
	}
	buf_reserve(b, MAX_FIXED_BYTES);
}

static void add_proto(struct buf *b, uint8_t proto)
{
	switch (proto) {
	case 0:
		PUT(b, "null");
		break;
	case IPPROTO_TCP:
		PUT(b, "\"tcp\"");
		break;
	case IPPROTO_UDP:
		PUT(b, "\"udp\"");
		break;
	case IPPROTO_ICMP:
		PUT(b, "\"icmp\"");
		break;
	case IPPROTO_ICMPV6:
		PUT(b, "\"icmp6\"");
		break;
	default:
		PUT(b, "\"");
		put_u64(b, proto);
		PUT(b, "\"");
	}
}

static void add_addr(struct buf *b, const struct audit_event *e)
{
	char text[ADDR_TEXT_BYTES];

	if (!e->has_addr) {
		PUT(b, "null");
		return;
	}
	PUT(b, "\"");
	if (addr_is_v4(&e->addr)) {
		for (size_t i = 12; i < 16; i++) {
			put_u64(b, e->addr.b[i]);
			if (i < 15)
				PUT(b, ".");
		}
	} else {
		put_str(b, addr_print(&e->addr, text));
	}
	PUT(b, "\"");
}

static void add_head(struct buf *b, const struct audit_event *e, const struct json_extra *x)
{
	char time[CLOCK_TEXT_BYTES];

	clock_print(e->time_us, time);
	PUT(b, "{\"seq\":");
	put_u64(b, x->seq);
	PUT(b, ",\"time\":\"");
	put(b, time, CLOCK_TEXT_BYTES - 1);
	PUT(b, "\",\"sandbox\":");
	buf_add_str(b, x->sandbox);
	buf_reserve(b, MAX_FIXED_BYTES);
	if (b->is_failed)
		return;
	PUT(b, ",\"event\":\"");
	put_str(b, audit_kind_word(e->kind));
	PUT(b, "\",\"layer\":\"");
	put_str(b, audit_layer_word(e->layer));
	PUT(b, "\",\"reason\":\"");
	put_str(b, reason_word(e->reason));
	PUT(b, "\",\"rule\":");
	buf_add_str(b, x->rule);
	buf_add_str(b, ",\"policy\":");
	buf_add_str(b, x->policy);
}

static void add_target(struct buf *b, const struct audit_event *e)
{
	const char *app = audit_app_word(e->app);

	PUT(b, ",\"proto\":");
	add_proto(b, e->proto);
	if (app) {
		PUT(b, ",\"app\":\"");
		put_str(b, app);
		PUT(b, "\",\"host\":");
	} else {
		PUT(b, ",\"app\":null,\"host\":");
	}
	add_text(b, e->host, AUDIT_MAX_HOST);
	if (b->is_failed)
		return;
	PUT(b, ",\"addr\":");
	add_addr(b, e);
	PUT(b, ",\"port\":");
	put_number_or_null(b, e->port);
	PUT(b, ",\"method\":");
	add_text(b, e->method, AUDIT_MAX_METHOD);
	buf_add(b, ",\"url\":", 7);
	add_text(b, e->url, AUDIT_MAX_URL);
}

static void add_outcome(struct buf *b, const struct audit_event *e)
{
	size_t comm_len = strnlen(e->comm, sizeof(e->comm));
	struct audit_text comm = {comm_len ? e->comm : NULL, (uint32_t)comm_len};

	PUT(b, ",\"status\":");
	put_number_or_null(b, e->status);
	PUT(b, ",\"bytes_out\":");
	put_u64(b, e->bytes_out);
	PUT(b, ",\"bytes_in\":");
	put_u64(b, e->bytes_in);
	PUT(b, ",\"duration_us\":");
	put_u64(b, e->duration_us);
	PUT(b, ",\"pid\":");
	put_number_or_null(b, e->pid);
	PUT(b, ",\"comm\":");
	add_text(b, comm, sizeof(e->comm));
	if (b->is_failed)
		return;
	PUT(b, ",\"uid\":");
	if (e->pid)
		put_u64(b, e->uid);
	else
		PUT(b, "null");
	PUT(b, ",\"cgroup\":");
	put_number_or_null(b, e->cgroup_id);
	PUT(b, ",\"count\":");
	put_u64(b, e->count);
}

static void add_optional(struct buf *b, const struct audit_event *e, const struct json_extra *x)
{
	if (x->note) {
		buf_add_str(b, ",\"note\":");
		buf_add_str(b, x->note);
	}
	if (e->detail.ptr) {
		buf_add_str(b, ",\"detail\":");
		add_text(b, e->detail, AUDIT_MAX_DETAIL);
	}
	if (x->more) {
		buf_add_char(b, ',');
		buf_add_str(b, x->more);
	}
}

int json_encode(struct buf *b, const struct audit_event *e, const struct json_extra *x)
{
	if (buf_reserve(b, MAX_FIXED_BYTES) < 0)
		return -ENOMEM;
	add_head(b, e, x);
	if (buf_reserve(b, MAX_FIXED_BYTES) < 0)
		return -ENOMEM;
	add_target(b, e);
	if (buf_reserve(b, MAX_FIXED_BYTES) < 0)
		return -ENOMEM;
	add_outcome(b, e);
	add_optional(b, e, x);
	return b->is_failed ? -ENOMEM : 0;
}
