/* SPDX-License-Identifier: GPL-2.0-only */
/* HTTP/2 connections: what nghttp2 says and wants, and when; see mux.h. */
/*
 * Theory of operation. Bytes of the peer go through nghttp2, whose callbacks only note what came:
 * fields in `fields`, body bytes in their stream, and the stream in the kit's list. When the
 * loop's round is over (mux_kit_run) the streams of that list are told, in order, then each dirty
 * connection sends what it owes, in one piece; that may tell streams again, a few times at most.
 * So no handler of a stream runs inside nghttp2, inside another's handler or while the thread's
 * buffer is being read, and a connection makes one system call a round.
 *
 * Bounds: body bytes by the windows we grant, heads by MUX_BLOCK_BYTES, streams by SETTINGS, answers
 * to pings and settings by nghttp2, and what costs us more than the peer (resets, empty frames,
 * malformed requests) by an allowance that fills again with time. Beyond: ENHANCE_YOUR_CALM.
 */
#include "mux.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "half.h"
#include "http.h"
#include "mux_frames.h"
#include "sniff.h"
#include "stream.h"

#define SENDS_A_TURN 16 /* in a row before the others have their turn */
#define READS_A_TURN 16
#define PASSES_A_ROUND 8
#define ORIGIN_IDLE_MS 60000 /* an origin's connection without streams */

/* --- the kit */

void mux_kit_tell(struct mux_kit *kit, struct stream *s)
{
	if (s->is_told)
		return;
	s->is_told = true;
	s->next_told = NULL;
	*kit->told_end = s;
	kit->told_end = &s->next_told;
}

void mux_kit_untell(struct mux_kit *kit, struct stream *s)
{
	struct stream **at = &kit->told;

	if (!s->is_told)
		return;
	while (*at != s)
		at = &(*at)->next_told;
	*at = s->next_told;
	if (kit->told_end == &s->next_told)
		kit->told_end = at;
	s->is_told = false;
}

struct h2_list *mux_kit_list(struct mux_kit *kit)
{
	return &kit->list;
}

static void tell_one(struct stream *s)
{
	uint32_t events = s->events;

	s->events = 0;
	if (s->io)
		s->io->on_ready(s->io, events);
	else if (s->is_new && s->mux && !s->is_closed)
		s->mux->ops->on_request(s->mux, s);
	else /* it was taken back before anybody looked at it: no work was done for it */
		stream_close(s, true);
}

static void finish_mux(struct mux *m, int how)
{
	if (m->is_ending)
		return;
	m->is_ending = true;
	m->ops->on_end(m, how);
}

void mux_kit_run(struct mux_kit *kit)
{
	for (int pass = 0; pass < PASSES_A_ROUND && (kit->told || kit->dirty); pass++) {
		struct mux *m;

		while (kit->told) {
			struct stream *s = kit->told;

			mux_kit_untell(kit, s);
			tell_one(s);
		}
		while ((m = kit->dirty)) {
			int r;

			kit->dirty = m->next_dirty;
			m->is_dirty = false;
			r = mux_flush(m);
			if (r < 0)
				finish_mux(m, r);
			if (kit->told)
				break;
		}
	}
	if (kit->told || kit->dirty)
		(void)loop_timer_set(kit->proxy->loop, &kit->again, 0);
}

static void on_round(struct loop_hook *hook)
{
	mux_kit_run(CONTAINER_OF(hook, struct mux_kit, hook));
}

/* Only so that the loop does not sleep: the hook does the work. */
static void on_again(struct loop_timer *timer)
{
	(void)timer;
}

static struct mux_kit *mux_kit_new(struct proxy *p)
{
	struct mux_kit *kit = calloc(1, sizeof(*kit));

	if (!kit)
		return NULL;
	kit->proxy = p;
	kit->told_end = &kit->told;
	kit->hook.on_round = on_round;
	kit->again.on_timeout = on_again;
	if (mux_frames_init(kit) < 0) {
		mux_kit_free(kit);
		return NULL;
	}
	loop_hook_add(p->loop, &kit->hook);
	return kit;
}

struct mux_kit *mux_kit_of(struct proxy *p)
{
	if (!p->mux_kit)
		p->mux_kit = mux_kit_new(p);
	return p->mux_kit;
}

void mux_kit_free(struct mux_kit *kit)
{
	if (!kit)
		return;
	while (kit->told)
		stream_free(kit->told);
	nghttp2_session_callbacks_del(kit->callbacks);
	nghttp2_option_del(kit->option);
	if (kit->spare)
		h2_fields_done(kit->spare);
	free(kit->spare);
	free(kit->frame);
	buf_done(&kit->out);
	h2_list_done(&kit->list);
	loop_timer_del(kit->proxy->loop, &kit->again);
	loop_hook_del(kit->proxy->loop, &kit->hook);
	free(kit);
}

/* --- one connection */

void mux_touch(struct mux *m)
{
	if (m->is_dirty)
		return;
	m->is_dirty = true;
	m->next_dirty = m->kit->dirty;
	m->kit->dirty = m;
}

static void untouch(struct mux *m)
{
	struct mux **at = &m->kit->dirty;

	if (!m->is_dirty)
		return;
	while (*at != m)
		at = &(*at)->next_dirty;
	*at = m->next_dirty;
	m->is_dirty = false;
}

static int submit_settings(struct mux *m)
{
	static const nghttp2_settings_entry server[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MUX_MAX_STREAMS},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, MUX_STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, NEJ_MAX_HEAD_BYTES},
		{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};
	static const nghttp2_settings_entry client[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, MUX_STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, NEJ_MAX_HEAD_BYTES},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
	};
	int r = m->is_server
		? nghttp2_submit_settings(m->session, NGHTTP2_FLAG_NONE, server, ARRAY_SIZE(server))
		: nghttp2_submit_settings(
			  m->session, NGHTTP2_FLAG_NONE, client, ARRAY_SIZE(client));

	if (!r)
		r = nghttp2_session_set_local_window_size(
			m->session, NGHTTP2_FLAG_NONE, 0, MUX_WINDOW);
	return r ? -ENOMEM : 0;
}

int mux_new(struct conn *carrier, bool is_server, const struct mux_ops *ops, struct mux **ret)
{
	struct mux_kit *kit = mux_kit_of(carrier->proxy);
	struct mux *m = kit ? calloc(1, sizeof(*m)) : NULL;
	int r;

	if (!m)
		return -ENOMEM;
	m->kit = kit;
	m->carrier = carrier;
	m->half = is_server ? &carrier->client : &carrier->server;
	m->other = is_server ? &carrier->server : &carrier->client;
	m->ops = ops;
	m->is_server = is_server;
	m->allowance = MUX_NUISANCES;
	m->nuisance_ms = m->last_ms = loop_now_ms(carrier->proxy->loop);
	r = mux_frames_open(kit, m);
	if (r < 0 || submit_settings(m) < 0) {
		nghttp2_session_del(m->session);
		free(m);
		return -ENOMEM;
	}
	carrier->mux = m;
	*ret = m;
	return 0;
}

void mux_free(struct mux *m)
{
	struct stream *s, *next;

	if (!m)
		return;
	m->is_ending = true;
	m->carrier->mux = NULL;
	if (m->ops->on_free)
		m->ops->on_free(m);
	for (s = m->streams; s; s = next) {
		next = s->next;
		s->mux = NULL;
		s->is_closed = true;
		if (s->is_orphan || (!s->io && !s->is_new)) {
			stream_free(s);
			continue;
		}
		if (!s->error)
			s->error = -ECONNRESET;
		s->events |= EPOLLIN | EPOLLERR | EPOLLHUP;
		mux_kit_tell(m->kit, s);
	}
	untouch(m);
	mux_return_fields(m);
	nghttp2_session_del(m->session);
	free(m);
}

int mux_feed(struct mux *m, const char *data, size_t len_bytes)
{
	ssize_t n;

	m->last_ms = loop_now_ms(m->kit->proxy->loop);
	m->block_bytes += (uint32_t)len_bytes;
	n = nghttp2_session_mem_recv(m->session, (const uint8_t *)data, len_bytes);
	mux_touch(m);
	if (n == NGHTTP2_ERR_FLOODED)
		(void)mux_calm(m, "a flood of frames that want an answer");
	else if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
		return CONN_CLOSE;
	else if (n < 0 && !m->end)
		return CONN_RESET;
	/* one head in more bytes than all its fields may have */
	if (n >= 0 && m->fields && m->block_bytes > MUX_BLOCK_BYTES)
		(void)mux_calm(m, "a head that does not end");
	return 0;
}

static int send_gathered(struct mux *m)
{
	struct buf *out = &m->kit->out;
	int r = half_send(m->carrier, m->other, m->half, out->data, out->len, 0);

	m->last_ms = loop_now_ms(m->kit->proxy->loop);
	if (m->kit->proxy->o.secrets && out->len)
		explicit_bzero(out->data, out->len);
	if (out->cap > 2 * MUX_OUT_BYTES)
		buf_done(out);
	return r;
}

/* Gathers frames and sends them until the socket or nghttp2 wants no more. 1: nothing is left. */
static int send_all(struct mux *m)
{
	struct buf *out = &m->kit->out;
	int r;

	for (int i = 0; i < SENDS_A_TURN; i++) {
		r = half_flush(m->carrier, m->other, m->half);
		if (r <= 0)
			return r;
		buf_clear(out);
		if (nghttp2_session_send(m->session) < 0)
			return CONN_RESET;
		if (!out->len)
			return 1;
		r = send_gathered(m);
		if (r < 0)
			return r;
	}
	mux_touch(m);
	return 0;
}

int mux_flush(struct mux *m)
{
	int r = send_all(m);

	/* a peer that is cut off is not waited for */
	if (m->end)
		return m->end;
	if (r <= 0)
		return r;
	if (!nghttp2_session_want_read(m->session) && !nghttp2_session_want_write(m->session))
		return CONN_CLOSE;
	return m->is_going && !m->streams && !m->is_server ? CONN_CLOSE : 0;
}

/* --- the carrier */

/* Reads what there is. */
static int pull(struct mux *m)
{
	struct proxy *p = m->kit->proxy;

	for (int i = 0; m->half->is_readable && !m->end; i++) {
		ssize_t n;
		int r;

		if (i == READS_A_TURN)
			return half_rearm(m->carrier, m->half);
		n = half_recv(m->half, p->buf, PROXY_BUF_BYTES);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? (int)n : CONN_CLOSE;
		r = mux_feed(m, p->buf, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

static void on_ready(struct mux *m, uint32_t events)
{
	int r = half_note(m->half, events);

	if (r == 0 && events & EPOLLOUT)
		mux_touch(m);
	if (r == 0)
		r = pull(m);
	if (r < 0) {
		/* a GOAWAY may say why */
		(void)send_all(m);
		finish_mux(m, r);
	}
}

static void on_client_ready(struct loop_io *io, uint32_t events)
{
	on_ready(conn_of_client(io)->mux, events);
}

static void on_server_ready(struct loop_io *io, uint32_t events)
{
	on_ready(conn_of_server(io)->mux, events);
}

/* How long the peer may be as it is now. */
static uint64_t patience_ms(const struct mux *m)
{
	if (!m->is_heard || m->fields)
		return SNIFF_LIMIT_MS;
	return m->is_server || m->streams ? HTTP_IDLE_LIMIT_MS : ORIGIN_IDLE_MS;
}

/* Streams with a half have limits of their own. */
static bool has_owned_stream(const struct mux *m)
{
	for (const struct stream *s = m->streams; s; s = s->next)
		if (!s->is_orphan)
			return true;
	return false;
}

static void on_timeout(struct loop_timer *timer)
{
	struct conn *c = CONTAINER_OF(timer, struct conn, timer);
	struct mux *m = c->mux;
	uint64_t idle_ms = loop_now_ms(c->proxy->loop) - m->last_ms;
	uint64_t limit_ms = patience_ms(m);

	if (m->is_heard && has_owned_stream(m) && !m->fields) {
		conn_set_timer(c, limit_ms, on_timeout);
	} else if (idle_ms < limit_ms) {
		conn_set_timer(c, limit_ms - idle_ms, on_timeout);
	} else {
		mux_shutdown(m);
		(void)send_all(m);
		finish_mux(m, CONN_CLOSE);
	}
}

int mux_start(struct mux *m, const char *first, size_t len_bytes)
{
	struct conn *c = m->carrier;
	int r = conn_watch(c, m->half, m->is_server ? on_client_ready : on_server_ready);

	if (r < 0)
		return r;
	conn_set_timer(c, SNIFF_LIMIT_MS, on_timeout);
	mux_touch(m);
	if (len_bytes)
		r = mux_feed(m, first, len_bytes);
	return r < 0 ? r : pull(m);
}

void mux_shutdown(struct mux *m)
{
	m->is_going = true;
	(void)nghttp2_submit_goaway(m->session, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(m->session), NGHTTP2_NO_ERROR, NULL, 0);
	mux_touch(m);
}

bool mux_has_room(const struct mux *m)
{
	uint32_t most = nghttp2_session_get_remote_settings(
		m->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	if (m->is_going || m->end || m->is_ending)
		return false;
	if (!nghttp2_session_check_request_allowed(m->session))
		return false;
	return m->n_streams < (most < MUX_MAX_STREAMS ? most : MUX_MAX_STREAMS);
}
