/* SPDX-License-Identifier: GPL-2.0-only */
/* Heads for the next hop; see hop.h. */
#include "hop.h"

#include <string.h>

static void add_text(struct buf *out, struct http1_text t)
{
	buf_add(out, t.ptr, t.len);
}

static void add_number(struct buf *out, const char *name, uint64_t v)
{
	buf_add_str(out, name);
	buf_add_u64(out, v);
	buf_add(out, "\r\n", 2);
}

void hop_print_authority(
	const struct host *host, uint16_t port, uint16_t default_port, struct buf *out)
{
	bool is_v6 = host->kind == HOST_ADDR && !host->is_embedded && !addr_is_v4(&host->addr);

	if (is_v6)
		buf_add_char(out, '[');
	buf_add_str(out, host->name);
	if (is_v6)
		buf_add_char(out, ']');
	if (port != default_port) {
		buf_add_char(out, ':');
		buf_add_u64(out, port);
	}
}

static void add_fields(const struct http1_head *h, struct buf *out)
{
	for (size_t i = 0; i < h->n_fields; i++) {
		const struct http1_field *f = &h->fields[i];

		if (f->is_hop || f->id == HTTP1_NAME_HOST || f->id == HTTP1_NAME_CONTENT_LENGTH)
			continue;
		add_text(out, f->name);
		buf_add(out, ": ", 2);
		add_text(out, f->value);
		buf_add(out, "\r\n", 2);
	}
}

static void add_upgrade(struct buf *out)
{
	buf_add_str(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
}

void hop_print_request(const struct http1_head *h, const struct host *host, uint16_t port,
	uint16_t default_port, struct http1_text path, struct buf *out)
{
	add_text(out, h->method);
	buf_add_char(out, ' ');
	add_text(out, path);
	buf_add_str(out, " HTTP/1.1\r\nHost: ");
	hop_print_authority(host, port, default_port, out);
	buf_add(out, "\r\n", 2);
	add_fields(h, out);
	if (h->body == HTTP1_BODY_CHUNKED)
		buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	else if (h->has_length)
		add_number(out, "Content-Length: ", h->length);
	if (h->is_websocket)
		add_upgrade(out);
	else if (h->has_te_trailers)
		buf_add_str(out, "TE: trailers\r\nConnection: TE\r\n");
	buf_add(out, "\r\n", 2);
}

void hop_print_response(const struct http1_head *h, const struct hop_reply *how, struct buf *out)
{
	buf_add_str(out, "HTTP/1.1 ");
	buf_add_u64(out, h->status);
	buf_add_char(out, ' ');
	add_text(out, h->phrase);
	buf_add(out, "\r\n", 2);
	add_fields(h, out);
	if (h->body == HTTP1_BODY_CHUNKED && !how->is_old)
		buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	else if (h->has_length && h->status >= 200 && h->status != 204)
		add_number(out, "Content-Length: ", h->length);
	if (h->is_websocket)
		add_upgrade(out);
	else if (how->is_close)
		buf_add_str(out, "Connection: close\r\n");
	else if (how->is_old)
		buf_add_str(out, "Connection: keep-alive\r\n");
	buf_add(out, "\r\n", 2);
}
