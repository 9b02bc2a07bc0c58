/* SPDX-License-Identifier: GPL-2.0-only */
/* SOCK_DESTROY and nf_tables asked over raw netlink; see probe_socket.h. */
#include "probe_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../base/cleanup.h"

/* linux/netfilter/nfnetlink.h and nf_tables.h */
#define SUBSYS_NFTABLES 10
#define MSG_GETGEN 16
struct nf_head {
	uint8_t family, version;
	uint16_t resource;
};

/* Sends one request and returns the errno of its answer; a data message counts as 0. */
static int ask(int protocol, struct nlmsghdr *request)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	const struct timeval second = {.tv_sec = 1};
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	const struct nlmsgerr *err;
	ssize_t n;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(answer.head) || answer.head.nlmsg_type != NLMSG_ERROR)
		return 0;
	err = (const struct nlmsgerr *)(const void *)(answer.bytes + NLMSG_HDRLEN);
	return (size_t)n < NLMSG_HDRLEN + sizeof(*err) ? -EPROTO : err->error;
}

/* A listener on a free loopback port. */
static int listen_somewhere(struct sockaddr_in *ret_at)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret_at);

	*ret_at = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_at, len) < 0 || listen(fd, 1) < 0 ||
		getsockname(fd, (struct sockaddr *)ret_at, &len) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int probe_socket_destroy(void)
{
	struct sockaddr_in at;
	_cleanup_close_ int fd = listen_somewhere(&at);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 diag;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DESTROY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.diag = {.sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};

	if (fd < 0)
		return fd;
	request.diag.id.idiag_sport = at.sin_port;
	request.diag.id.idiag_src[0] = at.sin_addr.s_addr;
	return ask(NETLINK_SOCK_DIAG, &request.head);
}

int probe_socket_nf_tables(void)
{
	struct {
		struct nlmsghdr head;
		struct nf_head gen;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			.nlmsg_type = SUBSYS_NFTABLES << 8 | MSG_GETGEN,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.gen = {.family = AF_UNSPEC},
	};

	return ask(NETLINK_NETFILTER, &request.head);
}
