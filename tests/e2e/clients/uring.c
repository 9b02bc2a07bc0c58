/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a socket, connects and sends through io_uring, without liburing: operations that system
 * call filters do not see. Arguments: ADDRESS PORT [udp]. Prints what each operation came to.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
	int fd;
	struct io_uring_params params;
	char *queue;
	struct io_uring_sqe *entries;
};

static int ring_open(struct ring *r)
{
	r->fd = (int)syscall(SYS_io_uring_setup, 4, &r->params);
	if (r->fd < 0)
		return -errno;
	size_t size = r->params.sq_off.array + 64 * sizeof(unsigned);
	size_t done = r->params.cq_off.cqes + 64 * sizeof(struct io_uring_cqe);

	r->queue = mmap(NULL, size > done ? size : done, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
	r->entries = mmap(NULL, 4 * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	return r->queue == MAP_FAILED || r->entries == MAP_FAILED ? -ENOMEM : 0;
}

static int ring_call(struct ring *r, const struct io_uring_sqe *entry)
{
	unsigned *tail = (unsigned *)(r->queue + r->params.sq_off.tail);
	unsigned *array = (unsigned *)(r->queue + r->params.sq_off.array);
	unsigned slot = *tail & (r->params.sq_entries - 1);
	unsigned *head = (unsigned *)(r->queue + r->params.cq_off.head);

	r->entries[slot] = *entry;
	array[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	struct io_uring_cqe *cqe = (struct io_uring_cqe *)(r->queue + r->params.cq_off.cqes);
	int result = cqe[*head & (r->params.cq_entries - 1)].res;

	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static int report(const char *what, int result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(-result) : "ok");
	return result < 0;
}

int main(int argc, char **argv)
{
	struct ring ring = {0};
	struct sockaddr_in to = {.sin_family = AF_INET};
	int is_udp = argc > 3;
	const char *canary = getenv("CANARY");

	if (argc < 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((uint16_t)atoi(argv[2]));
	if (report("setup", ring_open(&ring)))
		return 1;
	int fd = ring_call(&ring,
		&(struct io_uring_sqe){.opcode = 45 /* IORING_OP_SOCKET */,
			.fd = AF_INET,
			.off = is_udp ? SOCK_DGRAM : SOCK_STREAM});

	if (fd < 0)
		fd = socket(AF_INET, is_udp ? SOCK_DGRAM : SOCK_STREAM, 0);
	struct iovec iov = {(void *)(canary ? canary : "x"), canary ? strlen(canary) : 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (is_udp) {
		msg.msg_name = &to;
		msg.msg_namelen = sizeof(to);
	} else if (report("connect",
			   ring_call(&ring,
				   &(struct io_uring_sqe){.opcode = IORING_OP_CONNECT,
					   .fd = fd,
					   .addr = (uintptr_t)&to,
					   .off = sizeof(to)}))) {
		return 1;
	}
	return report("send",
		ring_call(&ring,
			&(struct io_uring_sqe){.opcode = IORING_OP_SENDMSG,
				.fd = fd,
				.addr = (uintptr_t)&msg,
				.len = 1}));
}
