/* SPDX-License-Identifier: GPL-2.0-only */
/* Worker's side of learning addresses: requests out, replies matched by id; see learn.h. */
#include "learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/cleanup.h"

struct learn {
	struct loop_io io;
	struct loop *loop;
	struct learn_request *pending;
	uint32_t next_id;
	void (*on_hangup)(void *arg);
	void *hangup_arg;
	void (*on_word)(void *arg, const void *word, size_t len_bytes, int fd);
	void *word_arg;
};

/* The socket is shared with other words of the supervisor; the longest of them. */
#define MAX_WORD_BYTES 256

static struct learn_request *take_pending(struct learn *l, uint32_t id)
{
	for (struct learn_request **at = &l->pending; *at; at = &(*at)->next) {
		struct learn_request *req = *at;

		if (req->id == id) {
			*at = req->next;
			return req;
		}
	}
	return NULL;
}

static void hang_up(struct learn *l)
{
	loop_del(l->loop, &l->io, true);
	l->io.fd = -1;
	while (l->pending) {
		struct learn_request *req = l->pending;

		l->pending = req->next;
		req->on_done(req, -EPIPE);
	}
	if (l->on_hangup)
		l->on_hangup(l->hangup_arg);
}

/* One message, and the descriptor that came with it or -1. As recv. */
static ssize_t receive(int socket, void *ret, size_t room, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {ret, room};
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*ret_fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return n;
}

static void on_ready(struct loop_io *io, uint32_t events)
{
	struct learn *l = CONTAINER_OF(io, struct learn, io);
	union {
		struct learn_reply reply;
		char word[MAX_WORD_BYTES];
	} m;
	_cleanup_close_ int fd = -1;
	ssize_t n = receive(io->fd, &m, sizeof(m), &fd);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(l);
		return;
	}
	if (n == sizeof(m.reply)) {
		struct learn_request *req = take_pending(l, m.reply.id);

		if (req)
			req->on_done(req, m.reply.status);
	} else if (l->on_word) {
		l->on_word(l->word_arg, m.word, (size_t)n, TAKE_FD(fd));
	}
}

int learn_new(struct loop *loop, int fd, struct learn **ret)
{
	struct learn *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->io.on_ready = on_ready;
	l->io.fd = -1;
	r = loop_add(loop, &l->io, fd, EPOLLIN);
	if (r < 0) {
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void learn_free(struct learn *l)
{
	if (!l)
		return;
	if (l->io.fd >= 0)
		loop_del(l->loop, &l->io, true);
	free(l);
}

void learn_on_hangup(struct learn *l, void (*on_hangup)(void *arg), void *arg)
{
	l->on_hangup = on_hangup;
	l->hangup_arg = arg;
}

void learn_on_word(struct learn *l,
	void (*on_word)(void *arg, const void *word, size_t len_bytes, int fd), void *arg)
{
	l->on_word = on_word;
	l->word_arg = arg;
}

int learn_addrs(struct learn *l, const struct host *name, const struct addr *addrs, size_t n_addrs,
	uint32_t ttl_s, struct learn_request *req)
{
	struct learn_message m = {.ttl_s = ttl_s, .name_len = name->len};

	if (l->io.fd < 0)
		return -EPIPE;
	if (name->kind != HOST_NAME || name->len > HOST_MAX_BYTES || !n_addrs ||
		n_addrs > LEARN_MAX_ADDRS)
		return -EINVAL;
	m.id = req->id = ++l->next_id;
	m.n_addrs = (uint32_t)n_addrs;
	memcpy(m.name, name->name, name->len);
	memcpy(m.addrs, addrs, n_addrs * sizeof(*addrs));
	if (send(l->io.fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	req->next = l->pending;
	l->pending = req;
	return 0;
}

void learn_cancel(struct learn *l, struct learn_request *req)
{
	take_pending(l, req->id);
}
