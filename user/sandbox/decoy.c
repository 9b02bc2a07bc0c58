/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an escaping program would try; see decoy.h. The raw socket comes first, with the one
 * capability it needs: without it the kernel refuses by itself, and the hook would not be seen.
 */
#include "decoy.h"

#include <cap-ng.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define ANSWER_MS 400 /* of the stub, and of the proxy */
#define DNS_ID 0x6e6a

static const char *const texts[] = {
#define X(id, text) [DECOY_##id] = (text),
	DECOY_TRIES(X)
#undef X
};

const char *decoy_text(enum decoy_try what)
{
	return (size_t)what < ARRAY_SIZE(texts) ? texts[what] : "something";
}

/* --- getting there */

static int keep_capability(int capability)
{
	capng_clear(CAPNG_SELECT_ALL);
	if (capability >= 0)
		capng_update(
			CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, (unsigned int)capability);
	return capng_apply(CAPNG_SELECT_CAPS) == 0 ? 0 : -EPERM;
}

static int join(const struct decoy_plan *plan)
{
	int fd;

	if (plan->cgroup_fd >= 0) {
		fd = openat(plan->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			return -EPERM;
	}
	if (plan->netns_fd >= 0 && setns(plan->netns_fd, CLONE_NEWNET) < 0)
		return -errno;
	return 0;
}

/* Nobody's user, so that no program inside can signal it; nothing of the supervisor stays open. */
static int become_nobody(uint32_t uid)
{
	prctl(PR_SET_NAME, DECOY_COMM);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_KEEPCAPS, 1);
	syscall(SYS_close_range, 0, ~0u, 0);
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	prctl(PR_SET_DUMPABLE, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return keep_capability(CAP_NET_RAW);
}

/* --- in the kernel: refused at once, by a hook */

static bool is_refusal(int r)
{
	return r < 0 && (errno == EACCES || errno == EPERM);
}

static _Noreturn void end_passed(enum decoy_try what)
{
	_exit(DECOY_PASSED + (int)what);
}

static void try_socket(void)
{
	if (socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0)
		end_passed(DECOY_SOCKET);
}

/* A host without the family has nothing to refuse. */
static void try_address(enum decoy_try what, int type, const struct sockaddr *to, socklen_t len)
{
	int fd = socket(to->sa_family, type | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	if (!is_refusal(type == SOCK_STREAM ? connect(fd, to, len)
					    : (int)sendto(fd, "nej", 3, 0, to, len)))
		end_passed(what);
	close(fd);
}

static void try_addresses(const struct decoy_plan *plan)
{
	const struct sockaddr_in to4 = {
		.sin_family = AF_INET, .sin_port = htons(plan->port), .sin_addr = plan->addr4};
	const struct sockaddr_in6 to6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(plan->port), .sin6_addr = plan->addr6};
	const struct sockaddr *a4 = (const struct sockaddr *)&to4;
	const struct sockaddr *a6 = (const struct sockaddr *)&to6;

	try_address(DECOY_CONNECT4, SOCK_STREAM, a4, sizeof(to4));
	try_address(DECOY_CONNECT6, SOCK_STREAM, a6, sizeof(to6));
	try_address(DECOY_DATAGRAM4, SOCK_DGRAM, a4, sizeof(to4));
	try_address(DECOY_DATAGRAM6, SOCK_DGRAM, a6, sizeof(to6));
}

/* --- by name */

static size_t put_question(const char *name, uint8_t out[static 128])
{
	static const uint8_t head[12] = {DNS_ID >> 8, DNS_ID & 0xff, 1, 0, 0, 1};
	static const uint8_t tail[5] = {0, 0, 1, 0, 1}; /* the root, A, IN */
	size_t n = sizeof(head), len;

	memcpy(out, head, sizeof(head));
	for (; *name; name += len + (name[len] == '.')) {
		len = strcspn(name, ".");
		out[n++] = (uint8_t)len;
		memcpy(out + n, name, len);
		n += len;
	}
	memcpy(out + n, tail, sizeof(tail));
	return n + sizeof(tail);
}

static void wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	if (poll(&p, 1, ANSWER_MS) == 0)
		_exit(DECOY_LATE);
}

/* Whatever address is asked, the stub answers. Only an answer without an error lets a name pass. */
static void try_name(const char *name)
{
	const struct sockaddr_in resolver = {.sin_family = AF_INET,
		.sin_port = htons(53),
		.sin_addr.s_addr = htonl(0xc0000235u)}; /* 192.0.2.53, of RFC 5737 */
	uint8_t question[128], answer[512];
	size_t len = put_question(name, question);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
		sendto(fd, question, len, 0, (const struct sockaddr *)&resolver, sizeof(resolver)) <
			0)
		return;
	wait_for(fd, POLLIN);
	if (recv(fd, answer, sizeof(answer), 0) >= 12 && answer[0] == question[0] &&
		answer[1] == question[1] && (answer[3] & 0xf) == 0)
		end_passed(DECOY_NAME);
	close(fd);
}

static void try_request(const struct decoy_plan *plan)
{
	const struct sockaddr_in proxy = {.sin_family = AF_INET,
		.sin_port = htons(plan->proxy_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), len;
	char text[256];

	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&proxy, sizeof(proxy)) < 0 && errno != EINPROGRESS)
		return; /* nobody is there, so nothing passes */
	len = snprintf(text, sizeof(text), "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n",
		plan->name, plan->name);
	wait_for(fd, POLLOUT);
	if (send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
		return;
	wait_for(fd, POLLIN);
	if (recv(fd, text, sizeof(text), 0) >= 12 && !memcmp(text, "HTTP/1.", 7) && text[9] == '2')
		end_passed(DECOY_REQUEST);
	close(fd);
}

void decoy_main(const struct decoy_plan *plan)
{
	if (join(plan) < 0 || become_nobody(plan->uid) < 0)
		_exit(DECOY_UNABLE);
	try_socket();
	if (keep_capability(-1) < 0)
		_exit(DECOY_UNABLE);
	try_addresses(plan);
	if (plan->asks_name)
		try_name(plan->name);
	if (plan->asks_proxy)
		try_request(plan);
	_exit(DECOY_REFUSED);
}
