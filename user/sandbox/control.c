/* SPDX-License-Identifier: GPL-2.0-only */
/* The control socket; see control.h. A client that does not read its answer is let go. */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../kernel/probe.h"
#include "cgroup.h"
#include "state.h"

struct client {
	struct loop_io io; /* fd -1: free */
	struct control *control;
	struct buf in;
	uint32_t id; /* of the request being answered; 0: none */
};

struct control {
	struct loop *loop;
	struct loop_io io;
	struct client clients[CONTROL_MAX_CLIENTS];
	uint32_t next_id;
	const char *cgroup; /* of those who may not ask; NULL: none */
	void (*on_request)(void *arg, uint32_t id, const json_t *request);
	void *arg;
	struct sockaddr_un addr;
};

static void name_socket(const char *sandbox, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret->sun_path, sizeof(ret->sun_path), STATE_ROOT "/%s.sock", sandbox);
}

json_t *control_error(const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int r;

	va_start(args, fmt);
	r = vasprintf(&text, fmt, args);
	va_end(args);
	if (r < 0)
		text = NULL;
	return json_pack("{s:b, s:s}", "ok", 0, "error", text ? text : "out of memory");
}

/* --- clients */

static void drop(struct client *cl)
{
	int fd = cl->io.fd;

	loop_del(cl->control->loop, &cl->io, false);
	close(fd);
	buf_done(&cl->in);
	buf_init(&cl->in);
	cl->id = 0;
}

static void send_line(struct client *cl, json_t *reply)
{
	_cleanup_free_ char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
	struct buf line;

	json_decref(reply);
	buf_init(&line);
	if (text)
		buf_add_str(&line, text);
	buf_add_char(&line, '\n');
	if (line.is_failed ||
		send(cl->io.fd, line.data, line.len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
			(ssize_t)line.len)
		drop(cl);
	buf_done(&line);
}

/* The line at the front, if it is whole. One request at a time: the next waits for the answer. */
static void take_line(struct client *cl)
{
	struct control *c = cl->control;
	char *end = cl->in.len ? memchr(cl->in.data, '\n', cl->in.len) : NULL;
	size_t len = end ? (size_t)(end - cl->in.data) : 0;
	json_t *request;

	if (!end || cl->id)
		return;
	request = json_loadb(cl->in.data, len, JSON_REJECT_DUPLICATES, NULL);
	buf_drop_front(&cl->in, len + 1);
	if (!json_is_object(request)) {
		send_line(cl, control_error("a request is one JSON object a line"));
	} else {
		cl->id = c->next_id++;
		if (!c->next_id)
			c->next_id = 1;
		c->on_request(c->arg, cl->id, request);
	}
	json_decref(request);
}

static void on_client(struct loop_io *io, uint32_t events)
{
	struct client *cl = CONTAINER_OF(io, struct client, io);
	char piece[4096];
	ssize_t n = recv(io->fd, piece, sizeof(piece), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		buf_add(&cl->in, piece, (size_t)n);
	if (n <= 0 || cl->in.is_failed || cl->in.len > CONTROL_MAX_LINE_BYTES)
		drop(cl);
	else
		take_line(cl);
}

void control_reply(struct control *c, uint32_t id, json_t *reply)
{
	for (size_t i = 0; i < CONTROL_MAX_CLIENTS; i++) {
		struct client *cl = &c->clients[i];

		if (cl->io.fd < 0 || cl->id != id)
			continue;
		cl->id = 0;
		send_line(cl, reply);
		if (cl->io.fd >= 0)
			take_line(cl);
		return;
	}
	json_decref(reply);
}

/* A container's root can be uid 0 of the host, and have our folder mounted: it must not let itself go.
 * One that is gone already may have been anywhere. By the kernel's word alone: a cgroup that was removed,
 * or nested deeper than a path is long, cannot be opened. */
static bool is_inside(const struct control *c, pid_t pid)
{
	char root[PATH_MAX - 32], path[PATH_MAX];
	const char *own;
	size_t n;
	int r;

	if (!c->cgroup)
		return false;
	if (probe_cgroup2(root, sizeof(root)) < 0 || strncmp(c->cgroup, root, strlen(root)) != 0)
		return true;
	own = c->cgroup + strlen(root);
	n = strlen(own);
	r = cgroup_path_of(pid, path);
	if (r < 0)
		return r != -ENOENT; /* that is, in no cgroup2 */
	return strncmp(path, own, n) == 0 && (!path[n] || path[n] == '/' || path[n] == ' ');
}

static void turn_away(int fd)
{
	static const char answer[] = "{\"ok\":false,\"error\":\"only root may ask, from outside of "
				     "the sandbox\"}\n";

	if (send(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return; /* it is closed in any case */
}

/* The folder is root's alone, so is the file; a descriptor that came by another way is not. */
static bool may_ask(const struct control *c, int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == 0 &&
		!is_inside(c, who.pid);
}

static void on_incoming(struct loop_io *io, uint32_t events)
{
	struct control *c = CONTAINER_OF(io, struct control, io);
	int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *cl = NULL;

	(void)events;
	for (size_t i = 0; i < CONTROL_MAX_CLIENTS && !cl; i++)
		if (c->clients[i].io.fd < 0)
			cl = &c->clients[i];
	if (fd >= 0 && !may_ask(c, fd)) {
		turn_away(fd);
		close(fd);
	} else if (fd >= 0 && (!cl || loop_add(c->loop, &cl->io, fd, EPOLLIN) < 0)) {
		close(fd);
	}
}

/* --- the socket */

static int open_socket(const struct sockaddr_un *addr)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old;
	int r;

	if (fd < 0)
		return -errno;
	unlink(addr->sun_path); /* a dead supervisor's: we hold the name's lock */
	old = umask(0177);
	r = bind(fd, (const struct sockaddr *)addr, sizeof(*addr));
	umask(old);
	if (r < 0 || listen(fd, CONTROL_MAX_CLIENTS) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int control_new(struct loop *loop, const char *sandbox, const char *cgroup,
	void (*on_request)(void *arg, uint32_t id, const json_t *request), void *arg,
	struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));
	int fd, r;

	if (!c)
		return -ENOMEM;
	*c = (struct control){.loop = loop,
		.on_request = on_request,
		.arg = arg,
		.cgroup = cgroup,
		.next_id = 1,
		.io = {on_incoming, -1}};
	for (size_t i = 0; i < CONTROL_MAX_CLIENTS; i++)
		c->clients[i] = (struct client){.io = {on_client, -1}, .control = c};
	name_socket(sandbox, &c->addr);
	fd = open_socket(&c->addr);
	r = fd < 0 ? fd : loop_add(loop, &c->io, fd, EPOLLIN);
	if (r < 0) {
		cleanup_close(&fd);
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void control_free(struct control *c)
{
	int fd;

	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_MAX_CLIENTS; i++)
		if (c->clients[i].io.fd >= 0)
			drop(&c->clients[i]);
	fd = c->io.fd;
	loop_del(c->loop, &c->io, true);
	close(fd);
	unlink(c->addr.sun_path);
	free(c);
}

/* --- asking */

/* Its answer was there before our request, and can be read. */
static bool is_turned_away(int error)
{
	return error == EPIPE || error == ECONNRESET;
}

/* A supervisor that hangs accepts nobody, and when enough wait connect(2) waits too. */
int control_begin(const char *sandbox, const json_t *request, int timeout_ms, int *ret_fd)
{
	const struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);
	struct sockaddr_un addr;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	if (!text)
		return -ENOMEM;
	name_socket(sandbox, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		((send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ||
			 send(fd, "\n", 1, MSG_NOSIGNAL) < 0) &&
			!is_turned_away(errno)))
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int control_end(int fd, int timeout_ms, json_t **ret)
{
	uint64_t now = clock_monotonic_ms(),
		 end = now + (timeout_ms > 0 ? (unsigned)timeout_ms : 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct buf in;
	int r = 0;

	buf_init(&in);
	while (r == 0 && !(in.len && in.data[in.len - 1] == '\n')) {
		char piece[4096];
		ssize_t n;

		now = clock_monotonic_ms();
		r = poll(&p, 1, now < end ? (int)(end - now) : 0);
		r = r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
		n = r == 0 ? recv(fd, piece, sizeof(piece), 0) : 0;
		if (r == 0 && n <= 0)
			r = n < 0 ? -errno : -EBADMSG;
		if (n > 0)
			buf_add(&in, piece, (size_t)n);
		if (in.is_failed)
			r = -ENOMEM;
	}
	*ret = r == 0 ? json_loadb(in.data, in.len, 0, NULL) : NULL;
	buf_done(&in);
	close(fd);
	return r < 0 ? r : *ret ? 0 : -EBADMSG;
}

int control_ask(const char *sandbox, const json_t *request, int timeout_ms, json_t **ret)
{
	int fd = -1, r = control_begin(sandbox, request, timeout_ms, &fd);

	return r < 0 ? r : control_end(fd, timeout_ms, ret);
}
