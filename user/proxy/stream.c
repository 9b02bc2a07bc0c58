/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two directions of a stream: fields and DATA in, HTTP/1 out of stream_recv; HTTP/1 into
 * stream_send, fields and DATA out. What a peer sends stays charged to its window until it was
 * read here, so memory is bounded by MUX_WINDOW a connection. See stream.h; mux.c owns the session.
 */
#include "stream.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "stream_out.h"

#define KEEP_BYTES 16384 /* an emptied buffer up to this size stays for the next bytes */
#define CHUNK_ROOM 24    /* size line and the line's end around a chunk */

/* --- life */

struct stream *stream_new(struct mux *m, int32_t id)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->mux = m;
	s->proxy = m->carrier->proxy;
	s->id = id;
	s->next = m->streams;
	s->prev = &m->streams;
	if (s->next)
		s->next->prev = &s->next;
	m->streams = s;
	m->n_streams++;
	return s;
}

static size_t held_bytes(const struct stream *s)
{
	return s->text.cap + s->in.cap + s->trailers.cap + s->head.cap + s->out.cap;
}

int stream_hold(struct stream *s)
{
	struct proxy *p = s->proxy;
	size_t held = held_bytes(s);

	p->held_bytes += held - s->held;
	s->held = held;
	return p->held_bytes > NEJ_MAX_HELD_BYTES ? -ENOBUFS : 0;
}

/* Takes it out of its connection. */
static void leave(struct stream *s)
{
	if (!s->mux)
		return;
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->mux->n_streams--;
	s->mux = NULL;
}

void stream_free(struct stream *s)
{
	mux_kit_untell(s->proxy->mux_kit, s);
	leave(s);
	buf_done(&s->text);
	buf_done(&s->in);
	buf_done(&s->trailers);
	buf_done(&s->head);
	buf_done(&s->out);
	h2_dechunk_done(&s->chunks);
	(void)stream_hold(s);
	free(s);
}

int stream_open(struct mux *m, struct stream **ret)
{
	struct stream *s = stream_new(m, 0);

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

void stream_adopt(struct stream *s, struct loop_io *io)
{
	s->io = io;
	s->is_new = false;
}

void stream_tell(struct stream *s, uint32_t events)
{
	s->events |= events;
	if (s->io || s->is_new)
		mux_kit_tell(s->proxy->mux_kit, s);
}

void stream_tell_again(struct stream *s)
{
	stream_tell(s, EPOLLIN | EPOLLOUT);
}

/* --- from the peer: its window */

/* n body bytes were read, or will never be. */
static void pay(struct stream *s, size_t n)
{
	if (n > s->owed)
		n = s->owed;
	s->owed -= n;
	if (!n || !s->mux)
		return;
	(void)nghttp2_session_consume(s->mux->session, s->id, n);
	mux_touch(s->mux);
}

void stream_reset(struct stream *s, uint32_t code)
{
	if (!s->mux || s->is_closed || !s->id)
		return;
	(void)nghttp2_submit_rst_stream(s->mux->session, NGHTTP2_FLAG_NONE, s->id, code);
	mux_touch(s->mux);
}

/* The stream is beyond use, with the peer's fault or ours. */
static void fail(struct stream *s, int error, uint32_t code)
{
	if (!s->error)
		s->error = error;
	stream_reset(s, code);
	stream_tell(s, EPOLLIN | EPOLLERR | EPOLLHUP);
}

/* --- from the peer: what came */

static int print_request(struct stream *s, struct h2_fields *f, bool is_end)
{
	uint8_t key[H2_KEY_BYTES] = {0};

	if (f->value[H2_PROTOCOL].is_set && getrandom(key, sizeof(key), 0) != sizeof(key))
		return -EIO;
	return h2_print_request(f, is_end, key, &s->text, &s->in_shape);
}

static int print_response(struct stream *s, struct h2_fields *f, bool is_end)
{
	struct h2_shape shape;
	int r = h2_print_response(f, is_end, s->in_shape.is_head, &s->text, &shape);

	if (r < 0)
		return r;
	s->in_shape = shape;
	s->has_head = shape.status >= 200;
	return 0;
}

static void on_request_fields(struct stream *s, struct h2_fields *f, bool is_end)
{
	int r = print_request(s, f, is_end);

	s->has_head = true;
	s->in_left = s->in_shape.length;
	if (r < 0) {
		s->fault = f->fault ? f->fault : "there is no memory for the request";
		/* request.c refuses it as what it is, and says the fault */
		buf_clear(&s->text);
		buf_add_str(&s->text, "malformed\r\n\r\n");
		s->in_shape = (struct h2_shape){.framing = H2_NO_BODY};
	}
	s->is_new = true;
	stream_tell(s, EPOLLIN);
}

void stream_on_fields(struct stream *s, struct h2_fields *f, bool is_end)
{
	int r;

	if (s->is_orphan)
		return;
	if (f->kind == H2_REQUEST) {
		on_request_fields(s, f, is_end);
		return;
	}
	if (f->kind == H2_TRAILERS) {
		r = h2_print_trailers(f, &s->trailers);
	} else {
		r = print_response(s, f, is_end);
		s->in_left = s->in_shape.length;
	}
	if (r == 0)
		r = stream_hold(s);
	if (r < 0)
		fail(s, r, NGHTTP2_PROTOCOL_ERROR);
	else
		stream_tell(s, EPOLLIN);
}

/*
 * Body bytes nobody waits for. A request that was answered before it was whole may go on for a
 * while, as over HTTP/1: clients that meet the reset at once take the answer for lost (curl 7.88),
 * though RFC 9113 section 8.1 tells them to keep it.
 */
static void throw_away(struct stream *s, size_t n)
{
	pay(s, n);
	s->drained += n;
	if (s->is_orphan && s->is_end_sent && s->drained > MUX_WINDOW)
		stream_reset(s, NGHTTP2_NO_ERROR);
}

void stream_on_data(struct stream *s, const void *data, size_t len_bytes)
{
	bool is_unwanted = s->is_orphan || s->error || s->fault;

	s->owed += len_bytes;
	if (is_unwanted) {
		throw_away(s, len_bytes);
		return;
	}
	if (s->in_off > s->in.len / 2) {
		buf_drop_front(&s->in, s->in_off);
		s->in_off = 0;
	}
	buf_add(&s->in, data, len_bytes);
	s->in_left -= s->in_left < len_bytes ? s->in_left : len_bytes;
	if (s->in.is_failed || stream_hold(s) < 0)
		fail(s, -ENOMEM, NGHTTP2_INTERNAL_ERROR);
	else
		stream_tell(s, EPOLLIN);
}

void stream_on_end(struct stream *s)
{
	s->is_in_ended = true;
	if (!s->is_orphan)
		stream_tell(s, EPOLLIN);
}

void stream_on_closed(struct stream *s, int error)
{
	bool is_whole = s->is_in_ended && s->is_end_sent;

	pay(s, s->owed);
	s->is_closed = true;
	if (s->is_orphan || (!s->io && !s->is_new)) {
		stream_free(s);
		return;
	}
	if (error && !s->error)
		s->error = error;
	/* what came completely is still read; what was not sent cannot be */
	if (!is_whole)
		stream_tell(
			s, s->mux->is_server ? EPOLLIN | EPOLLERR | EPOLLHUP : EPOLLIN | EPOLLOUT);
}

/* --- from the peer: reading */

void stream_shrink(struct buf *b)
{
	if (b->cap > KEEP_BYTES)
		buf_done(b);
	else
		buf_clear(b);
}

/* At most size bytes off the front of b. */
static size_t take(struct buf *b, size_t *off, char *to, size_t size)
{
	size_t n = b->len - *off;

	if (n > size)
		n = size;
	if (n)
		memcpy(to, b->data + *off, n);
	*off += n;
	if (*off == b->len) {
		*off = 0;
		stream_shrink(b);
	}
	return n;
}

static size_t take_body(struct stream *s, char *to, size_t size)
{
	size_t n = s->in.len - s->in_off, frame = 0;

	if (!n)
		return 0;
	if (s->in_shape.framing == H2_CHUNKED) {
		if (size <= CHUNK_ROOM)
			return 0;
		if (n > size - CHUNK_ROOM)
			n = size - CHUNK_ROOM;
		frame = (size_t)snprintf(to, CHUNK_ROOM, "%zx\r\n", n);
		size = n;
	}
	n = take(&s->in, &s->in_off, to + frame, size);
	pay(s, n);
	if (frame) {
		to[frame + n] = '\r';
		to[frame + n + 1] = '\n';
		frame += 2;
	}
	return frame + n;
}

/* The end of a chunked body becomes text. */
static void end_body(struct stream *s)
{
	s->is_in_read = true;
	if (s->in_shape.framing != H2_CHUNKED)
		return;
	buf_add(&s->text, "0\r\n", 3);
	buf_add(&s->text, s->trailers.data, s->trailers.len);
	buf_add(&s->text, "\r\n", 2);
	buf_done(&s->trailers);
}

ssize_t stream_recv(struct stream *s, void *buf, size_t size_bytes)
{
	char *to = buf;
	size_t n = take(&s->text, &s->text_off, to, size_bytes);

	if (!s->text.len)
		n += take_body(s, to + n, size_bytes - n);
	if (s->is_in_ended && !s->is_in_read && s->has_head && !s->in.len && !s->text.len)
		end_body(s);
	if (!s->text_off && s->is_in_read)
		n += take(&s->text, &s->text_off, to + n, size_bytes - n);
	(void)stream_hold(s);
	if (n || !size_bytes)
		return (ssize_t)n;
	if (s->text.is_failed)
		return -ENOMEM;
	if (s->is_in_read)
		return 0;
	return s->error ? s->error : -EAGAIN;
}

/* --- the end */

bool stream_has_come(const struct stream *s)
{
	return s->is_in_ended || (s->has_head && s->in_shape.framing == H2_LENGTH && !s->in_left);
}

static uint32_t reset_code(const struct stream *s)
{
	if (!s->mux->is_server)
		return NGHTTP2_CANCEL;
	return s->fault ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_INTERNAL_ERROR;
}

void stream_close(struct stream *s, bool is_reset)
{
	mux_kit_untell(s->proxy->mux_kit, s);
	pay(s, s->owed);
	if (!is_reset)
		stream_shut(s);
	s->io = NULL;
	s->is_new = false;
	if (!s->mux || s->is_closed || !s->id) {
		stream_free(s);
		return;
	}
	s->is_orphan = true;
	buf_done(&s->in);
	buf_done(&s->text);
	s->in_off = s->text_off = 0;
	(void)stream_hold(s);
	if (is_reset || s->out_state != STREAM_SENT)
		stream_reset(s, reset_code(s));
	else if (s->is_end_sent && !stream_has_come(s) && !s->mux->is_server)
		stream_reset(s, NGHTTP2_CANCEL);
}
