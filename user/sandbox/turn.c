/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that change over; see turn.h. The supervisor says the next word only after the answer. */
#include "turn.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../policy/overlay.h"

int turn_init(struct turn *t, size_t n, struct policy *policy, uint32_t generation, int control)
{
	*t = (struct turn){.n = n, .now = policy, .control = control};
	for (size_t i = 0; i < n; i++)
		t->lanes[i] = (struct turn_lane){
			.turn = t, .wake.fd = -1, .policy = policy, .generation = generation};
	return 0;
}

const struct policy *turn_policy(const struct turn *t)
{
	return t->next ? t->next : t->now;
}

static void answer(struct turn *t)
{
	if (t->word == INIT_TURN) {
		policy_free(t->before);
		t->before = t->now;
		t->now = t->next;
		t->next = NULL;
		proxy_review_limits(t->lanes[0].proxy);
	}
	init_send(t->control, INIT_TURNED, (int)atomic_load(&t->n_ended), NULL, -1);
}

static void change_over(struct turn_lane *lane)
{
	struct turn *t = lane->turn;
	size_t n = proxy_open_count(lane->proxy);

	if (t->word == INIT_HALT) {
		proxy_cut(lane->proxy);
	} else {
		lane->policy = t->next;
		lane->generation = t->next_generation;
		n = proxy_review(lane->proxy);
	}
	atomic_fetch_add(&t->n_ended, (uint32_t)n);
	if (atomic_fetch_sub(&t->n_left, 1) == 1)
		answer(t);
}

static void on_wake(struct loop_io *io, uint32_t events)
{
	uint64_t value;

	(void)events;
	if (read(io->fd, &value, sizeof(value)) == sizeof(value))
		change_over(CONTAINER_OF(io, struct turn_lane, wake));
}

int turn_watch(struct turn *t, size_t i, struct loop *loop, struct proxy *proxy)
{
	struct turn_lane *lane = &t->lanes[i];
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	lane->proxy = proxy;
	lane->wake.on_ready = on_wake;
	return loop_add(loop, &lane->wake, fd, EPOLLIN);
}

static void take_policy(struct turn *t, uint32_t generation, int fd)
{
	struct policy *next = NULL;
	int r = policy_map(fd, &next);

	if (r < 0)
		log_error("the new policy cannot be used: %s", strerror(-r));
	policy_free(t->next);
	t->next = next;
	t->next_generation = generation;
}

/* Over the policy that came before them, or else over the one in force: mapped once more, since threads
 * decide by the one there is. */
static void take_grants(struct turn *t, int fd)
{
	struct policy *grants = NULL;
	int r = 0;

	if (!t->next) {
		r = policy_map(policy_fd(t->now), &t->next);
		t->next_generation = t->lanes[0].generation;
	}
	if (r >= 0 && fd >= 0)
		r = overlay_map(fd, &grants);
	if (r < 0) {
		log_error("the new grants cannot be used: %s", strerror(-r));
		policy_free(t->next);
		t->next = NULL;
		return;
	}
	policy_free(overlay_lay(t->next, grants));
}

static size_t count_open(const struct turn *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += proxy_open_count(t->lanes[i].proxy);
	return n;
}

void turn_do(struct turn *t, const struct init_message *message, int fd)
{
	static const uint64_t one = 1;

	if (message->word == INIT_POLICY) {
		take_policy(t, (uint32_t)message->value, fd);
		return;
	}
	if (message->word == INIT_GRANTS) {
		take_grants(t, fd);
		return;
	}
	if (message->word == INIT_COUNT) {
		init_send(t->control, INIT_COUNTED, (int)count_open(t), NULL, -1);
		return;
	}
	if (message->word == INIT_TURN && !t->next) {
		init_send(t->control, INIT_TURNED, -EINVAL, NULL, -1);
		return;
	}
	t->word = message->word;
	atomic_store(&t->n_ended, 0);
	atomic_store(&t->n_left, (uint32_t)t->n);
	for (size_t i = 0; i < t->n; i++)
		if (write(t->lanes[i].wake.fd, &one, sizeof(one)) < 0)
			log_error("a thread cannot be woken: %s", strerror(errno));
}
