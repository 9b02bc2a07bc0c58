/* SPDX-License-Identifier: GPL-2.0-only */
/* Speaks sock_diag(7); see sockdiag.h. */
#include "sockdiag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define REPLY_BYTES 32768
#define REPLY_LIMIT_S 5

struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

int sockdiag_open(void)
{
	const struct timeval limit = {.tv_sec = REPLY_LIMIT_S};
	const int one = 1;
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	/* an error repeats the request otherwise */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	return TAKE_FD(fd);
}

static int send_request(int fd, const struct request *request)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t n = sendto(
		fd, request, sizeof(*request), 0, (struct sockaddr *)&kernel, sizeof(kernel));

	return n < 0 ? -errno : n == sizeof(*request) ? 0 : -EIO;
}

/* --- reading */

static struct addr addr_of(uint8_t family, const __be32 *words)
{
	struct addr a;

	if (family == AF_INET)
		return addr_from_v4(ntohl(words[0]));
	memcpy(a.b, words, sizeof(a.b));
	return a;
}

static uint64_t find_cgroup(const struct nlmsghdr *head)
{
	struct rtattr *attr = (struct rtattr *)((char *)NLMSG_DATA(head) +
		NLMSG_ALIGN(sizeof(struct inet_diag_msg)));
	int left = (int)NLMSG_PAYLOAD(head, sizeof(struct inet_diag_msg));
	uint64_t id = 0;

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left))
		if (attr->rta_type == INET_DIAG_CGROUP_ID && RTA_PAYLOAD(attr) >= sizeof(id))
			memcpy(&id, RTA_DATA(attr), sizeof(id));
	return id;
}

static struct sockdiag_socket socket_of(const struct nlmsghdr *head, uint8_t proto)
{
	const struct inet_diag_msg *m = NLMSG_DATA(head);
	struct sockdiag_socket s = {
		.family = m->idiag_family,
		.proto = proto,
		.state = m->idiag_state,
		.uid = m->idiag_uid,
		.inode = m->idiag_inode,
		.cgroup_id = find_cgroup(head),
		.device = m->id.idiag_if,
		.cookie = {m->id.idiag_cookie[0], m->id.idiag_cookie[1]},
	};

	s.local.addr = addr_of(m->idiag_family, m->id.idiag_src);
	s.remote.addr = addr_of(m->idiag_family, m->id.idiag_dst);
	s.local.port = ntohs(m->id.idiag_sport);
	s.remote.port = ntohs(m->id.idiag_dport);
	return s;
}

static int error_of(const struct nlmsghdr *head)
{
	const struct nlmsgerr *e = NLMSG_DATA(head);

	return head->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) ? -EBADMSG : e->error;
}

struct dump {
	int fd;
	uint8_t proto;
	int (*on_socket)(void *arg, const struct sockdiag_socket *socket);
	void *arg;
	int result; /* of on_socket: the rest is still read, or the next dump would get it */
};

/* 1 when the dump is complete. */
static int take_reply(struct dump *d, const struct nlmsghdr *head, int left)
{
	for (; NLMSG_OK(head, (unsigned int)left); head = NLMSG_NEXT(head, left)) {
		struct sockdiag_socket s;

		if (head->nlmsg_type == NLMSG_DONE)
			return 1;
		if (head->nlmsg_type == NLMSG_ERROR)
			return error_of(head);
		if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY || d->result < 0 ||
			head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			continue;
		s = socket_of(head, d->proto);
		d->result = d->on_socket(d->arg, &s);
	}
	return 0;
}

static int dump(struct dump *d, uint8_t family)
{
	struct request request = {
		.head = {.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.sdiag_family = family, .sdiag_protocol = d->proto, .idiag_states = ~0u},
	};
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
	int r = send_request(d->fd, &request);

	while (r == 0) {
		ssize_t n = recv(d->fd, reply, sizeof(reply), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = take_reply(d, (struct nlmsghdr *)reply, (int)n);
	}
	return r < 0 ? r : d->result;
}

int sockdiag_each(
	int fd, int (*on_socket)(void *arg, const struct sockdiag_socket *socket), void *arg)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) * ARRAY_SIZE(protos) && r >= 0; i++) {
		struct dump d = {.fd = fd,
			.proto = protos[i / ARRAY_SIZE(families)],
			.on_socket = on_socket,
			.arg = arg};

		r = dump(&d, families[i % ARRAY_SIZE(families)]);
	}
	return r < 0 ? r : 0;
}

/* --- ending */

static void put_addr(uint8_t family, const struct addr *a, __be32 *words)
{
	if (family == AF_INET)
		words[0] = htonl(addr_to_v4(a));
	else
		memcpy(words, a->b, sizeof(a->b));
}

int sockdiag_destroy(int fd, const struct sockdiag_socket *s)
{
	struct request request = {
		.head = {.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DESTROY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.body = {.sdiag_family = s->family,
			.sdiag_protocol = s->proto,
			.idiag_states = ~0u,
			.id = {.idiag_sport = htons(s->local.port),
				.idiag_dport = htons(s->remote.port),
				.idiag_if = s->device,
				.idiag_cookie = {s->cookie[0], s->cookie[1]}}},
	};
	_Alignas(struct nlmsghdr) char reply[1024];
	const struct nlmsghdr *head = (struct nlmsghdr *)reply;
	ssize_t n;
	int r;

	put_addr(s->family, &s->local.addr, request.body.id.idiag_src);
	put_addr(s->family, &s->remote.addr, request.body.id.idiag_dst);
	r = send_request(fd, &request);
	if (r < 0)
		return r;
	do
		n = recv(fd, reply, sizeof(reply), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!NLMSG_OK(head, (unsigned int)n) || head->nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	r = error_of(head);
	return r == -ENOENT ? 0 : r;
}
