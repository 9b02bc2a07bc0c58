/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers the notifications of the command's filter and makes events of them; see refused.h. */
#include "refused.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/file.h"

/* A flood may not keep the loop from its other work. */
#define BATCH 64

struct refused {
	struct loop *loop;
	struct loop_io io;
	int fd;
	void (*on_event)(void *arg, const struct audit_event *event);
	void *arg;
	uint64_t n_families, n_types; /* attempts so far */
	/* as large as this kernel's, which may be larger than ours */
	struct seccomp_notif *call;
	struct seccomp_notif_resp *answer;
	struct seccomp_notif_sizes sizes;
};

static void read_comm(uint32_t pid, char out[static NEJ_COMM_BYTES])
{
	char path[64];
	_cleanup_free_ char *text = NULL;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (file_read(path, 256, &text, &len) < 0)
		return;
	text[strcspn(text, "\n")] = 0;
	snprintf(out, NEJ_COMM_BYTES, "%s", text);
}

static void read_owner(uint32_t pid, struct audit_event *event)
{
	char path[64];
	struct stat st;

	event->pid = pid;
	read_comm(pid, event->comm);
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &st) == 0)
		event->uid = st.st_uid;
}

/* Not another family: a raw or ping socket of this one. */
static bool is_inet(const struct refused *r)
{
	uint32_t family = (uint32_t)r->call->data.args[0];

	return family == AF_INET || family == AF_INET6;
}

static void tell(struct refused *r)
{
	char detail[96];
	struct audit_event event = {
		.kind = AUDIT_NETWORK_BLOCKED,
		.layer = AUDIT_LAYER_KERNEL,
		.reason = is_inet(r) ? NEJ_REASON_SOCKET_TYPE : NEJ_REASON_FAMILY,
		.proto = is_inet(r) ? (uint8_t)r->call->data.args[2] : 0,
		.rule = AUDIT_NO_RULE,
		.count = 1,
		.time_us = clock_real_us(),
	};
	int n = snprintf(detail, sizeof(detail), "socket family %u, type %u, protocol %u",
		(uint32_t)r->call->data.args[0], (uint32_t)r->call->data.args[1] & 0xf,
		(uint32_t)r->call->data.args[2]);

	event.detail = (struct audit_text){detail, (uint32_t)n};
	read_owner(r->call->pid, &event);
	r->n_families += !is_inet(r);
	r->n_types += is_inet(r);
	r->on_event(r->arg, &event);
}

static void say_no(struct refused *r)
{
	memset(r->answer, 0, r->sizes.seccomp_notif_resp);
	r->answer->id = r->call->id;
	r->answer->error = is_inet(r) ? -EPERM : -EAFNOSUPPORT;
	ioctl(r->io.fd, SECCOMP_IOCTL_NOTIF_SEND, r->answer); /* it may be gone: fine */
}

static bool is_more(const struct refused *r)
{
	struct pollfd p = {.fd = r->io.fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

static void on_ready(struct loop_io *io, uint32_t events)
{
	struct refused *r = CONTAINER_OF(io, struct refused, io);

	if (!(events & EPOLLIN)) {
		loop_del(r->loop, io, true); /* nobody is left who could ask */
		return;
	}
	for (int i = 0; i < BATCH && is_more(r); i++) {
		memset(r->call, 0, r->sizes.seccomp_notif);
		if (ioctl(io->fd, SECCOMP_IOCTL_NOTIF_RECV, r->call) < 0)
			return;
		tell(r);
		say_no(r);
	}
}

int refused_new(struct loop *loop, int fd,
	void (*on_event)(void *arg, const struct audit_event *event), void *arg,
	struct refused **ret)
{
	struct refused *r = calloc(1, sizeof(*r));
	int err = r ? 0 : -ENOMEM;

	if (r) {
		*r = (struct refused){.loop = loop,
			.io = {on_ready, -1},
			.fd = fd,
			.on_event = on_event,
			.arg = arg};
		if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &r->sizes) < 0)
			err = -errno;
	}
	if (err == 0) {
		if (r->sizes.seccomp_notif < sizeof(*r->call))
			r->sizes.seccomp_notif = sizeof(*r->call);
		if (r->sizes.seccomp_notif_resp < sizeof(*r->answer))
			r->sizes.seccomp_notif_resp = sizeof(*r->answer);
		r->call = calloc(1, r->sizes.seccomp_notif);
		r->answer = calloc(1, r->sizes.seccomp_notif_resp);
		err = r->call && r->answer ? loop_add(loop, &r->io, fd, EPOLLIN) : -ENOMEM;
	}
	if (err < 0) {
		if (!r)
			close(fd);
		refused_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

uint64_t refused_count(const struct refused *r, enum nej_reason reason)
{
	if (!r)
		return 0;
	return reason == NEJ_REASON_FAMILY         ? r->n_families
		: reason == NEJ_REASON_SOCKET_TYPE ? r->n_types
						   : 0;
}

void refused_free(struct refused *r)
{
	if (!r)
		return;
	loop_del(r->loop, &r->io, true);
	close(r->fd);
	free(r->call);
	free(r->answer);
	free(r);
}
