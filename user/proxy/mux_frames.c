/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks only note what came: fields in the connection's list, body bytes in their stream,
 * the stream in the kit's list. Nothing of the streams' owners runs from here. See mux.c.
 */
#include "mux_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "stream.h"

#define MAX_ACKS 128 /* answers to pings and settings that wait */

/* --- what costs us more than the peer */

bool mux_allows_nuisance(struct mux *m)
{
	uint64_t now = loop_now_ms(m->kit->proxy->loop);
	uint64_t more = (now - m->nuisance_ms) * MUX_NUISANCES_A_SECOND / 1000;

	if (more) {
		m->nuisance_ms = now;
		m->allowance = m->allowance + more > MUX_NUISANCES ? MUX_NUISANCES
								   : m->allowance + (uint32_t)more;
	}
	if (!m->allowance)
		return false;
	m->allowance--;
	return true;
}

int mux_calm(struct mux *m, const char *detail)
{
	if (m->end || m->is_ending)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	m->ops->on_misuse(m, detail);
	(void)nghttp2_session_terminate_session(m->session, NGHTTP2_ENHANCE_YOUR_CALM);
	m->end = CONN_CLOSE;
	mux_touch(m);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int note_nuisance(struct mux *m, const char *detail)
{
	return mux_allows_nuisance(m) ? 0 : mux_calm(m, detail);
}

/* --- heads */

static struct h2_fields *fields_lend(struct mux_kit *kit)
{
	struct h2_fields *f = TAKE_PTR(kit->spare);

	if (f)
		return f;
	f = malloc(sizeof(*f));
	if (f)
		h2_fields_init(f);
	return f;
}

void mux_return_fields(struct mux *m)
{
	struct h2_fields *f = TAKE_PTR(m->fields);

	if (!f)
		return;
	if (!m->kit->spare) {
		m->kit->spare = f;
		return;
	}
	h2_fields_done(f);
	free(f);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct mux *m = user_data;
	struct stream *s;
	enum h2_kind kind;

	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!s && m->is_server && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		s = stream_new(m, frame->hd.stream_id);
		if (!s)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		(void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, s);
	}
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (s->has_head)
		kind = H2_TRAILERS;
	else
		kind = m->is_server ? H2_REQUEST : H2_RESPONSE;
	if (!m->fields)
		m->fields = fields_lend(m->kit);
	if (!m->fields)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	h2_fields_begin(m->fields, kind);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user_data)
{
	struct mux *m = user_data;

	(void)session, (void)frame, (void)flags;
	if (!m->fields)
		return 0;
	h2_fields_add(m->fields, (struct h2_text){(const char *)name, name_len},
		(struct h2_text){(const char *)value, value_len});
	return m->fields->size_bytes > MUX_BLOCK_BYTES ? mux_calm(m, "a head far too large") : 0;
}

/* nghttp2 leaves such a field out; then the head must not be taken for whole. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
	const uint8_t *name, size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
	void *user_data)
{
	struct mux *m = user_data;
	int r = on_header(session, frame, name, name_len, value, value_len, flags, user_data);

	if (m->fields && !m->fields->fault)
		m->fields->fault = "a field is malformed";
	return r;
}

/* --- frames that came */

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *user_data)
{
	struct mux *m = user_data;

	(void)session;
	if (hd->type != NGHTTP2_CONTINUATION)
		m->block_bytes = 0;
	else if (hd->length == 0)
		return note_nuisance(m, "a flood of empty CONTINUATION frames");
	return 0;
}

static int on_headers(struct mux *m, const nghttp2_frame *frame)
{
	struct stream *s = nghttp2_session_get_stream_user_data(m->session, frame->hd.stream_id);
	bool is_end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (s && m->fields) {
		stream_on_fields(s, m->fields, is_end);
		if (is_end)
			stream_on_end(s);
	}
	mux_return_fields(m);
	return s && s->fault ? note_nuisance(m, "a flood of malformed requests") : 0;
}

static int on_data_frame(struct mux *m, const nghttp2_frame *frame)
{
	struct stream *s = nghttp2_session_get_stream_user_data(m->session, frame->hd.stream_id);

	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		if (s)
			stream_on_end(s);
		return 0;
	}
	return frame->hd.length <= frame->data.padlen ? note_nuisance(m, "a flood of empty frames")
						      : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct mux *m = user_data;

	(void)session;
	m->is_heard = true;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		return on_headers(m, frame);
	case NGHTTP2_DATA:
		return on_data_frame(m, frame);
	case NGHTTP2_RST_STREAM:
		return note_nuisance(m, "a storm of stream resets");
	case NGHTTP2_PING:
		return note_nuisance(m, "a flood of pings");
	case NGHTTP2_SETTINGS:
		return note_nuisance(m, "a flood of settings");
	case NGHTTP2_PRIORITY:
		return note_nuisance(m, "a flood of priorities");
	case NGHTTP2_GOAWAY:
		m->is_going = true;
		return 0;
	default:
		return 0;
	}
}

static int on_invalid_frame(
	nghttp2_session *session, const nghttp2_frame *frame, int error, void *user_data)
{
	struct mux *m = user_data;

	(void)session;
	(void)frame;
	if (!m->is_ending && !m->end)
		m->ops->on_misuse(m, nghttp2_strerror(error));
	return note_nuisance(m, "a flood of malformed frames");
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
	size_t len, void *user_data)
{
	struct stream *s = nghttp2_session_get_stream_user_data(session, id);

	(void)flags, (void)user_data;
	if (s)
		stream_on_data(s, data, len);
	else
		(void)nghttp2_session_consume(session, id, len);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
	struct stream *s = nghttp2_session_get_stream_user_data(session, id);
	int error = -ECONNRESET;

	(void)user_data;
	if (!s)
		return 0;
	if (code == NGHTTP2_NO_ERROR)
		error = 0;
	else if (code == NGHTTP2_REFUSED_STREAM)
		error = -ESTALE;
	stream_on_closed(s, error);
	return 0;
}

/* --- frames that go */

static ssize_t on_send(
	nghttp2_session *session, const uint8_t *data, size_t len, int flags, void *user_data)
{
	struct mux *m = user_data;
	struct buf *out = &m->kit->out;

	(void)session, (void)flags;
	/* always taken: no frame may stay in the memory that connections share */
	buf_add(out, data, len);
	return out->is_failed ? NGHTTP2_ERR_CALLBACK_FAILURE : (ssize_t)len;
}

/* A whole DATA frame; its bytes come straight from the stream. We pad nothing. */
static int on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
	size_t len, nghttp2_data_source *source, void *user_data)
{
	struct mux *m = user_data;
	struct buf *out = &m->kit->out;
	struct stream *s = source->ptr;

	(void)session, (void)frame;
	buf_add(out, head, 9);
	if (len)
		buf_add(out, s->out.data + s->out_off, len);
	if (out->is_failed)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	stream_on_sent(s, len);
	return out->len >= MUX_OUT_BYTES ? NGHTTP2_ERR_PAUSE : 0;
}

static bool is_their_fault(uint32_t code)
{
	return code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR ||
		code == NGHTTP2_STREAM_CLOSED || code == NGHTTP2_REFUSED_STREAM;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	bool is_message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
	struct stream *s;

	/* what made us reset a stream may have cost a request's work (CVE-2025-8671) */
	if (frame->hd.type == NGHTTP2_RST_STREAM && is_their_fault(frame->rst_stream.error_code))
		(void)note_nuisance(user_data, "a storm of streams that must be reset");
	if (!is_message || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (s)
		stream_on_end_sent(s);
	return 0;
}

/* --- memory: a session wants 16 KiB to put frames together, for as long as it lives, yet there is
 * never more than one that does so, and what it put together is taken before it returns. So the
 * clients' connections of a thread share that piece. Not those to origins: there the connection
 * preface waits in it from the beginning. */

#define FRAME_BYTES 16500 /* a little more than nghttp2's NGHTTP2_FRAMEBUF_CHUNKLEN and head */

static bool is_for_frames(const struct mux_kit *kit, size_t size)
{
	return kit->is_making && size > 16384 && size <= FRAME_BYTES;
}

static void *on_malloc(size_t size, void *user_data)
{
	struct mux_kit *kit = user_data;

	return is_for_frames(kit, size) ? kit->frame : malloc(size);
}

static void on_free(void *ptr, void *user_data)
{
	struct mux_kit *kit = user_data;

	if (ptr != kit->frame)
		free(ptr);
}

static void *on_calloc(size_t n, size_t size, void *user_data)
{
	(void)user_data;
	return calloc(n, size);
}

static void *on_realloc(void *ptr, size_t size, void *user_data)
{
	struct mux_kit *kit = user_data;
	void *own;

	if (!ptr)
		return on_malloc(size, kit);
	if (ptr != kit->frame)
		return realloc(ptr, size);
	own = malloc(size);
	if (own)
		memcpy(own, kit->frame, size < FRAME_BYTES ? size : FRAME_BYTES);
	return own;
}

int mux_frames_open(struct mux_kit *kit, struct mux *m)
{
	nghttp2_mem mem = {kit, on_malloc, on_free, on_calloc, on_realloc};
	int r;

	kit->is_making = m->is_server;
	r = m->is_server
		? nghttp2_session_server_new3(&m->session, kit->callbacks, m, kit->option, &mem)
		: nghttp2_session_client_new3(&m->session, kit->callbacks, m, kit->option, &mem);
	kit->is_making = false;
	return r ? -ENOMEM : 0;
}

/* --- all of them */

int mux_frames_init(struct mux_kit *kit)
{
	nghttp2_session_callbacks *c;

	kit->frame = malloc(FRAME_BYTES);
	if (!kit->frame || nghttp2_session_callbacks_new(&kit->callbacks) ||
		nghttp2_option_new(&kit->option))
		return -ENOMEM;
	c = kit->callbacks;
	nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(c, on_invalid_header);
	nghttp2_session_callbacks_set_on_begin_frame_callback(c, on_begin_frame);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_sent);
	nghttp2_session_callbacks_set_send_callback(c, on_send);
	nghttp2_session_callbacks_set_send_data_callback(c, on_send_data);
	nghttp2_option_set_no_auto_window_update(kit->option, 1);
	nghttp2_option_set_no_closed_streams(kit->option, 1);
	nghttp2_option_set_max_deflate_dynamic_table_size(kit->option, MUX_TABLE_BYTES);
	nghttp2_option_set_max_outbound_ack(kit->option, MAX_ACKS);
	nghttp2_option_set_max_reserved_remote_streams(kit->option, 0);
	nghttp2_option_set_max_send_header_block_length(kit->option, 2 * NEJ_MAX_HEAD_BYTES);
	return 0;
}
