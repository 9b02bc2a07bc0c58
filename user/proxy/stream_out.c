/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream's way to the peer: HTTP/1 text of our own becomes fields, body bytes wait in `out` until
 * nghttp2 makes frames of them, trailers follow. See stream.h; stream.c is the way from the peer.
 */
#include "stream_out.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <string.h>

#include "../wire/http1.h"

/* nghttp2 is told that there are body bytes, or that there will be none. */
static void resume(struct stream *s)
{
	if (s->is_deferred) {
		s->is_deferred = false;
		(void)nghttp2_session_resume_data(s->mux->session, s->id);
	}
	mux_touch(s->mux);
}

static void finish(struct stream *s)
{
	s->out_state = STREAM_SENT;
	s->is_end_due = true;
	resume(s);
}

static int convert(const struct h2_list *list, nghttp2_nv *nv)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct h2_field *f = &list->fields[i];

		nv[i] = (nghttp2_nv){
			.name = (uint8_t *)(uintptr_t)f->name.ptr,
			.namelen = f->name.len,
			.value = (uint8_t *)(uintptr_t)f->value.ptr,
			.valuelen = f->value.len,
			.flags = f->is_sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
		};
	}
	return (int)list->n;
}

static int submit_trailers(struct stream *s)
{
	struct h2_list *list = mux_kit_list(s->proxy->mux_kit);
	nghttp2_nv nv[H2_LIST_FIELDS];
	int r = h2_list_trailers(list, s->chunks.trailers.data, s->chunks.trailers.len);

	if (r < 0)
		return r;
	return nghttp2_submit_trailer(s->mux->session, s->id, nv, (size_t)convert(list, nv));
}

/* nghttp2 asks for body bytes. They are not copied: on_send_data takes them from `out`. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user_data)
{
	struct stream *s = source->ptr;
	size_t n = s->out.len - s->out_off;

	(void)session, (void)id, (void)buf, (void)user_data;
	if (!n && !s->is_end_due) {
		s->is_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (n > length)
		return (ssize_t)length;
	if (!s->is_end_due)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (!s->chunks.trailers.len)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return submit_trailers(s) < 0 ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : (ssize_t)n;
}

static int submit_request(struct stream *s, const struct h2_list *list, const nghttp2_nv *nv)
{
	nghttp2_data_provider body = {.source.ptr = s, .read_callback = read_body};
	bool has_body = list->shape.framing != H2_NO_BODY;
	int r = nghttp2_submit_request(
		s->mux->session, NULL, nv, list->n, has_body ? &body : NULL, s);

	if (r < 0)
		return r == NGHTTP2_ERR_NOMEM ? -ENOMEM : -ESTALE;
	s->id = r;
	s->in_shape.is_head = list->shape.is_head;
	return 0;
}

static int submit_response(struct stream *s, const struct h2_list *list, const nghttp2_nv *nv)
{
	nghttp2_data_provider body = {.source.ptr = s, .read_callback = read_body};
	bool has_body = list->shape.framing != H2_NO_BODY;
	int r;

	if (list->shape.status < 200 && list->shape.status != 101)
		r = nghttp2_submit_headers(
			s->mux->session, NGHTTP2_FLAG_NONE, s->id, NULL, nv, list->n, NULL);
	else
		r = nghttp2_submit_response(
			s->mux->session, s->id, nv, list->n, has_body ? &body : NULL);
	if (r < 0)
		return r == NGHTTP2_ERR_NOMEM ? -ENOMEM : -EPIPE;
	return 0;
}

/* One whole head. */
static int send_head(struct stream *s, const char *text, size_t len)
{
	struct h2_list *list = mux_kit_list(s->proxy->mux_kit);
	nghttp2_nv nv[H2_LIST_FIELDS];
	bool is_server = s->mux->is_server;
	int r = is_server ? h2_list_response(list, text, len, s->in_shape.is_head)
			  : h2_list_request(list, text, len);

	if (r < 0)
		return r;
	/* the server switches protocols only for who asked to */
	if (is_server && (list->shape.status == 101) && !s->in_shape.is_websocket)
		return -EBADMSG;
	convert(list, nv);
	r = is_server ? submit_response(s, list, nv) : submit_request(s, list, nv);
	if (r < 0)
		return r;
	mux_touch(s->mux);
	if (is_server && list->shape.status < 200 && list->shape.status != 101)
		return 0;
	s->out_shape = list->shape;
	s->out_left = list->shape.length;
	s->out_state = list->shape.framing == H2_NO_BODY ? STREAM_SENT : STREAM_BODY;
	return 0;
}

/* Bytes used, all of them unless a head ends before. */
static ssize_t take_head(struct stream *s, const char *data, size_t len)
{
	size_t before = s->head.len, n;
	int r;

	if (!before) {
		n = http1_head_end(data, len);
		if (n) {
			r = send_head(s, data, n);
			return r < 0 ? r : (ssize_t)n;
		}
	}
	buf_add(&s->head, data, len);
	if (s->head.is_failed)
		return -ENOMEM;
	n = http1_head_end(s->head.data, s->head.len);
	if (!n)
		return s->head.len > 2 * NEJ_MAX_HEAD_BYTES ? -EBADMSG : (ssize_t)len;
	r = send_head(s, s->head.data, n);
	buf_done(&s->head);
	return r < 0 ? r : (ssize_t)(n - before);
}

static ssize_t take_chunks(struct stream *s, const char *data, size_t len, size_t room)
{
	size_t n = 0;
	int r = h2_dechunk_feed(&s->chunks, data, len, room, &s->out, &n);

	if (r < 0)
		return r;
	if (r > 0)
		finish(s);
	return (ssize_t)n;
}

/* Body bytes as far as there is room. 0: there is none. */
static ssize_t take_body_out(struct stream *s, const char *data, size_t len)
{
	size_t waits = s->out.len - s->out_off;
	size_t room = waits < STREAM_OUT_BYTES ? STREAM_OUT_BYTES - waits : 0;
	ssize_t n;

	if (!room)
		return 0;
	if (s->out_off > s->out.len / 2) {
		buf_drop_front(&s->out, s->out_off);
		s->out_off = 0;
	}
	if (s->out_shape.framing == H2_CHUNKED) {
		n = take_chunks(s, data, len, room);
	} else {
		n = (ssize_t)(len < room ? len : room);
		if (s->out_shape.framing == H2_LENGTH && (uint64_t)n > s->out_left)
			n = (ssize_t)s->out_left;
		buf_add(&s->out, data, (size_t)n);
		s->out_left -= s->out_shape.framing == H2_LENGTH ? (size_t)n : 0;
		if (s->out_shape.framing == H2_LENGTH && !s->out_left)
			finish(s);
	}
	if (s->out.is_failed)
		return -ENOMEM;
	resume(s);
	return n;
}

static int why_not(const struct stream *s)
{
	if (s->error == -ESTALE)
		return -ESTALE;
	return !s->mux || s->is_closed || s->error ? -EPIPE : 0;
}

ssize_t stream_send(struct stream *s, const void *data, size_t len_bytes)
{
	const char *at = data;
	size_t left = len_bytes;
	int r = why_not(s);

	while (left && r == 0) {
		ssize_t n;

		if (s->out_state == STREAM_SENT)
			return -EBADMSG;
		n = s->out_state == STREAM_HEAD ? take_head(s, at, left)
						: take_body_out(s, at, left);
		if (n <= 0) {
			r = (int)n;
			break;
		}
		at += n;
		left -= (size_t)n;
	}
	if (r == 0)
		r = stream_hold(s);
	if (r < 0) {
		/* whoever waits for an answer must not wait for ever */
		if (!s->error)
			s->error = r;
		return r;
	}
	s->is_blocked = left > 0;
	return left == len_bytes && len_bytes ? -EAGAIN : (ssize_t)(len_bytes - left);
}

void stream_shut(struct stream *s)
{
	bool has_no_other_end = s->out_shape.framing == H2_EOF || s->out_shape.framing == H2_RAW;

	if (s->out_state == STREAM_BODY && has_no_other_end && why_not(s) == 0)
		finish(s);
}

void stream_on_sent(struct stream *s, size_t len_bytes)
{
	s->out_off += len_bytes;
	if (s->out_off == s->out.len) {
		s->out_off = 0;
		stream_shrink(&s->out);
		(void)stream_hold(s);
	}
	if (!s->is_blocked || s->out.len - s->out_off > STREAM_OUT_BYTES / 2)
		return;
	s->is_blocked = false;
	stream_tell(s, EPOLLOUT);
}

void stream_on_end_sent(struct stream *s)
{
	s->is_end_sent = true;
	/* of a client's request the rest is thrown away for a while */
	if (s->is_orphan && !stream_has_come(s) && !s->mux->is_server)
		stream_reset(s, NGHTTP2_CANCEL);
}
