/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a client's or an origin's side of an HTTP/2 connection, in any pieces. What comes out
 * of its streams must be heads that parse, then bodies framed as the heads say; nothing may be held
 * when the connection is gone.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../user/base/cleanup.h"
#include "../../user/proxy/half.h"
#include "../../user/proxy/mux.h"
#include "../../user/proxy/stream.h"
#include "../../user/wire/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_STREAMS 32

/* A half without a connection: reads all it is told of, answers each request once. */
struct reader {
	struct loop_io io;
	struct stream *stream;
	struct buf got;
	bool is_server, is_answered;
};

static struct proxy proxy;
static struct http1_head head;
static int fds[2] = {-1, -1};
static struct reader readers[MAX_STREAMS];
static size_t n_readers;
static bool is_over, is_slow;

static void check_head(struct reader *r, size_t len)
{
	int result;

	if (r->is_server && r->stream->fault) {
		assert(http1_parse_request(r->got.data, len, &head) < 0);
		return;
	}
	result = r->is_server ? http1_parse_request(r->got.data, len, &head)
			      : http1_parse_response(r->got.data, len, false, &head);
	/* a method or target that HTTP/1 does not know is refused there */
	assert(result == 0 || result == -EBADMSG || result == -E2BIG);
	if (result == 0 && r->is_server)
		assert(head.host.ptr && head.host.len && head.minor == 1);
}

static void on_ready(struct loop_io *io, uint32_t events)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n"
				     "5\r\nhello\r\n0\r\nx-t: 1\r\n\r\n";
	struct reader *r = CONTAINER_OF(io, struct reader, io);
	char block[3000];
	ssize_t n;
	size_t end;

	while ((n = stream_recv(r->stream, block, sizeof(block))) > 0) {
		if (r->got.len < 100000)
			buf_add(&r->got, block, (size_t)n);
		if (is_slow)
			break;
	}
	end = r->got.len ? http1_head_end(r->got.data, r->got.len) : 0;
	if (end)
		check_head(r, end);
	if (r->is_server && end && !r->is_answered) {
		r->is_answered = true;
		(void)stream_send(r->stream, answer, sizeof(answer) - 1);
	}
	if (n == 0 || (n < 0 && n != -EAGAIN) || events & EPOLLERR) {
		stream_close(r->stream, n != 0);
		r->stream = NULL;
	}
}

static bool adopt(struct stream *s, bool is_server)
{
	struct reader *r = &readers[n_readers];

	if (n_readers == MAX_STREAMS)
		return false;
	n_readers++;
	*r = (struct reader){.io.on_ready = on_ready, .stream = s, .is_server = is_server};
	stream_adopt(s, &r->io);
	return true;
}

static void on_request(struct mux *m, struct stream *s)
{
	(void)m;
	if (adopt(s, true))
		readers[n_readers - 1].io.on_ready(&readers[n_readers - 1].io, EPOLLIN);
	else
		stream_close(s, true);
}

static void on_misuse(struct mux *m, const char *detail)
{
	(void)m;
	assert(detail && *detail);
}

static void on_end(struct mux *m, int how)
{
	assert(how < 0);
	mux_free(m);
	is_over = true;
}

static void ask(struct mux *m)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc",
		"POST /y HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
	};
	struct stream *s;

	for (size_t i = 0; i < 3; i++) {
		if (stream_open(m, &s) < 0 || !adopt(s, false))
			return;
		(void)stream_send(s, requests[i], strlen(requests[i]));
	}
}

static void set_up(void)
{
	if (proxy.loop)
		return;
	assert(loop_new(&proxy.loop) == 0);
	proxy.buf = malloc(PROXY_BUF_BYTES);
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
}

static void drink(void)
{
	static char block[65536];

	while (recv(fds[1], block, sizeof(block), 0) > 0)
		continue;
}

static void feed(struct mux *m, const uint8_t *data, size_t size, size_t step)
{
	while (size && !is_over) {
		size_t n = size < step ? size : step;
		char *piece = malloc(n); /* an own one, so that reading beyond it is seen */
		int r;

		memcpy(piece, data, n);
		r = mux_feed(m, piece, n);
		free(piece);
		data += n;
		size -= n;
		if (r < 0)
			return;
		mux_kit_run(proxy.mux_kit);
		drink();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mux_ops ops = {on_request, on_misuse, on_end, NULL};
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct conn carrier = {.proxy = &proxy};
	struct mux *m;
	bool is_server;

	if (size < 2)
		return 0;
	set_up();
	is_server = !(data[0] & 1);
	is_slow = data[0] & 4;
	is_over = false;
	n_readers = 0;
	half_init(&carrier.client, is_server ? fds[0] : -1);
	half_init(&carrier.server, is_server ? -1 : fds[0]);
	assert(mux_new(&carrier, is_server, &ops, &m) == 0);
	if (is_server && !(data[0] & 2))
		feed(m, (const uint8_t *)preface, sizeof(preface) - 1, sizeof(preface));
	if (!is_server)
		ask(m);
	mux_kit_run(proxy.mux_kit);
	feed(m, data + 2, size - 2, data[1] ? data[1] : size);
	if (!is_over)
		mux_free(m);
	mux_kit_run(proxy.mux_kit);
	for (size_t i = 0; i < n_readers; i++) {
		if (readers[i].stream)
			stream_close(readers[i].stream, true);
		buf_done(&readers[i].got);
	}
	half_drop_stash(&proxy, is_server ? &carrier.server : &carrier.client);
	drink();
	assert(!proxy.held_bytes);
	return 0;
}
