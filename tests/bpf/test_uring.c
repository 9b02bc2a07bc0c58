/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests through io_uring, which no system call filter sees: the socket hooks do. */
#include "world.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

static struct world world;

static int open_world(void **state)
{
	(void)state;
	world_open(&world, NEJ_F_OWN_NETNS);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

/* Without liburing: one submission, one completion. */
struct ring {
	int fd;
	uint32_t *sq_tail, *sq_array, *cq_head, *cq_tail;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	uint32_t sq_mask, cq_mask;
};

static int ring_open(struct ring *r, uint32_t flags)
{
	struct io_uring_params p = {.flags = flags, .sq_thread_idle = 50};
	char *sq, *cq;

	r->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (r->fd < 0)
		return -errno;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
		r->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes), PROT_READ | PROT_WRITE,
		MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof(*r->sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
		r->fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || r->sqes == MAP_FAILED)
		return -errno;
	r->sq_tail = (uint32_t *)(void *)(sq + p.sq_off.tail);
	r->sq_array = (uint32_t *)(void *)(sq + p.sq_off.array);
	r->sq_mask = *(uint32_t *)(void *)(sq + p.sq_off.ring_mask);
	r->cq_head = (uint32_t *)(void *)(cq + p.cq_off.head);
	r->cq_tail = (uint32_t *)(void *)(cq + p.cq_off.tail);
	r->cq_mask = *(uint32_t *)(void *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes);
	return 0;
}

static int ring_do(struct ring *r, const struct io_uring_sqe *sqe, uint32_t setup_flags)
{
	uint32_t tail = *r->sq_tail, head = *r->cq_head;
	uint32_t enter = IORING_ENTER_GETEVENTS;

	r->sqes[tail & r->sq_mask] = *sqe;
	r->sq_array[tail & r->sq_mask] = tail & r->sq_mask;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (setup_flags & IORING_SETUP_SQPOLL)
		enter |= IORING_ENTER_SQ_WAKEUP;
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, enter, NULL, 0) < 0)
		return -errno;
	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == head)
		usleep(1000);
	tail = (uint32_t)r->cqes[head & r->cq_mask].res;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return (int)tail;
}

struct ring_case {
	uint32_t setup_flags;
	uint8_t sqe_flags;
	struct target target;
};

static void ring_connect(struct world_result *ret, void *arg)
{
	const struct ring_case *c = arg;
	struct io_uring_sqe sqe = {.opcode = IORING_OP_CONNECT, .flags = c->sqe_flags};
	struct sockaddr_storage sa;
	struct ring ring;
	int r = ring_open(&ring, c->setup_flags);

	if (r < 0) {
		ret->value = r == -ENOSYS || r == -EPERM ? -ENOSYS : r;
		return;
	}
	sqe.off = target_sockaddr(&c->target, &sa);
	sqe.addr = (uintptr_t)&sa;
	sqe.fd = target_socket(&c->target);
	ret->value = ring_do(&ring, &sqe, c->setup_flags);
}

static void ring_socket(struct world_result *ret, void *arg)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_SOCKET, .fd = AF_INET, .off = SOCK_RAW, .len = IPPROTO_ICMP};
	struct ring ring;
	int r = ring_open(&ring, 0);

	(void)arg;
	ret->value = r < 0 ? r : ring_do(&ring, &sqe, 0);
}

static void ring_of_requests_is_no_way_around(void **state)
{
	struct ring_case cases[] = {
		{.setup_flags = 0},
		{.sqe_flags = IOSQE_ASYNC},
		{.setup_flags = IORING_SETUP_SQPOLL},
	};
	struct world_result r;

	(void)state;
	r = world_run(&world, ring_connect,
		&(struct ring_case){.target = {.addr = "93.184.216.34", .port = 25}});
	if (r.value == -ENOSYS)
		skip();
	assert_int_equal(r.value, DENIED);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cases[i].target = (struct target){.addr = "93.184.216.34", .port = 443};
		world_expect_arrival(&world, ring_connect, &cases[i]);
		cases[i].target.port = 25;
		assert_int_equal(world_run(&world, ring_connect, &cases[i]).value, DENIED);
	}
	r = world_run(&world, ring_socket, NULL);
	assert_true(r.value == -EPERM || r.value == -EINVAL); /* the request is new in 5.19 */
}

static void ring_send(struct world_result *ret, void *arg)
{
	struct target t = {.addr = arg, .port = 443, .type = SOCK_DGRAM};
	struct iovec part = {.iov_base = (void *)(uintptr_t) "canary", .iov_len = 6};
	struct sockaddr_storage sa;
	struct msghdr m = {.msg_name = &sa,
		.msg_namelen = target_sockaddr(&t, &sa),
		.msg_iov = &part,
		.msg_iovlen = 1};
	struct io_uring_sqe sqe = {.opcode = IORING_OP_SENDMSG, .addr = (uintptr_t)&m, .len = 1};
	struct ring ring;
	int r = ring_open(&ring, 0);

	sqe.fd = target_socket(&t);
	ret->value = r < 0 ? -ENOSYS : ring_do(&ring, &sqe, 0);
}

static void datagram_through_a_ring_is_decided_too(void **state)
{
	struct world_result r = world_run(&world, ring_send, (void *)(uintptr_t) "93.184.216.34");

	(void)state;
	if (r.value == -ENOSYS)
		skip();
	assert_int_equal(r.value, DENIED);
	r = world_run(&world, ring_send, (void *)(uintptr_t) "2606:2800:220:1::1");
	assert_int_equal(r.value, DENIED);
	assert_int_equal(world_count(&world, NEJ_REASON_UDP), 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ring_of_requests_is_no_way_around),
		T(datagram_through_a_ring_is_decided_too),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
