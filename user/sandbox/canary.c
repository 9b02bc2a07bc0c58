/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: a timer starts the decoy in the sandbox's cgroup and network namespace; its
 * exit status is the result. One that is late is ended, and fails the sandbox only the second time in
 * a row; one that got through does at once. What the decoy causes is known by its pid and its
 * targets, which are drawn anew each time, and is taken out of the events, at most one a try: more
 * cannot be hidden behind it. A frozen or halted sandbox is left alone.
 */
#include "canary.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "decoy.h"

#define PERIOD_MS 60000
#define SOON_MS 100
#define AGAIN_MS 1000 /* when it was not the moment */
#define APART_MS 1200 /* the kernel folds what comes within a second of its like */
#define NOBODY 65534

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

struct canary {
	struct loop *loop;
	struct sandbox *sb;
	struct canary_hooks hooks;
	struct loop_timer next, limit;
	struct loop_io end; /* pidfd; -1: does not run */
	pid_t pid;          /* of the newest one; its events may still come */
	struct decoy_plan plan;
	uint64_t started_ms;
	uint32_t generation; /* of the policy it was sent out under */
	uint32_t n_own;      /* of its events that were taken out */
	bool joins;          /* it cannot be cloned into the cgroup */
	bool has_started;    /* it said anything but SIGKILL */
	uint32_t n_runs, n_late;
	bool is_ok;
	char result[128];
};

/* --- its events */

static bool is_target(const struct canary *c, const struct audit_event *e)
{
	struct addr v4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}, v6;

	memcpy(v4.b + 12, &c->plan.addr4, 4);
	memcpy(v6.b, &c->plan.addr6, 16);
	return e->has_addr && e->port == c->plan.port &&
		(addr_equal(&e->addr, &v4) || addr_equal(&e->addr, &v6));
}

static bool is_ours(const struct canary *c, const struct audit_event *e)
{
	if (e->kind == AUDIT_NETWORK_BLOCKED && e->layer == AUDIT_LAYER_KERNEL)
		return e->pid == (uint32_t)c->pid && !strcmp(e->comm, DECOY_COMM) &&
			(is_target(c, e) || e->reason == NEJ_REASON_SOCKET_TYPE);
	/* refused before it could say what it wants: a limit of connections */
	if (e->kind == AUDIT_NETWORK_BLOCKED && !e->host.len)
		return e->pid == (uint32_t)c->pid && !strcmp(e->comm, DECOY_COMM);
	if (e->kind != AUDIT_NETWORK_BLOCKED && e->kind != AUDIT_DNS_BLOCKED)
		return false;
	return e->host.ptr && e->host.len == strlen(c->plan.name) &&
		!memcmp(e->host.ptr, c->plan.name, e->host.len);
}

static bool take_own(void *arg, struct audit_event *e)
{
	struct canary *c = arg;

	if (!c->pid || c->n_own >= DECOY_TRY_COUNT || !is_ours(c, e))
		return false;
	c->n_own++;
	if (e->layer == AUDIT_LAYER_KERNEL && e->reason < NEJ_REASON_COUNT)
		c->sb->canary_refused[e->reason]++;
	return --e->count == 0;
}

/* --- starting one */

static bool is_frozen(const struct cgroup *cg)
{
	_cleanup_close_ int fd = openat(cg->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = 0;
	return strstr(text, "frozen 1") != NULL;
}

static bool denies_name(const struct policy *p, const struct host *name)
{
	struct policy_decision d;

	policy_decide_dns(p, name, &d);
	return d.verdict == POLICY_DENY;
}

static bool denies_request(const struct policy *p, const struct host *name)
{
	const struct policy_ask ask = {.scheme = POLICY_SCHEME_ANY, .host = name, .port = 443};
	struct policy_decision d;

	policy_decide(p, &ask, &d);
	return d.verdict == POLICY_DENY;
}

/* Targets that nobody inside can foresee. */
static int draw(struct canary *c)
{
	struct decoy_plan *plan = &c->plan;
	const struct sandbox *sb = c->sb;
	uint8_t seed[16];
	struct host name;

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return -EAGAIN;
	plan->addr4.s_addr = htonl(0xa9fe0100u | seed[0]); /* 169.254.1.x */
	plan->port = (uint16_t)(1024 + (seed[1] | (seed[2] & 0x7f) << 8));
	inet_pton(AF_INET6, "fd00:ec2::254", &plan->addr6);
	snprintf(plan->name, sizeof(plan->name), "nej-%02x%02x%02x%02x%02x%02x%02x%02x.invalid",
		seed[3], seed[4], seed[5], seed[6], seed[7], seed[8], seed[9], seed[10]);
	plan->uid = sb->settings.flags & NEJ_F_SCOPE_UID ? sb->settings.scope_uid : NOBODY;
	plan->proxy_port = sb->listeners.proxy_port;
	plan->asks_name = plan->asks_proxy = false;
	if (host_parse(plan->name, strlen(plan->name), &name) < 0 || sb->worker.pid <= 0)
		return 0;
	plan->asks_name = denies_name(sb->policy, &name);
	plan->asks_proxy = denies_request(sb->policy, &name);
	return 0;
}

/* As a fork: the child goes on with a copy of our memory; secrets are wiped in it (locked.c). */
static pid_t clone_decoy(const struct canary *c, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | (c->joins ? 0 : CLONE_INTO_CGROUP),
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = c->joins ? 0 : (uint64_t)c->sb->cgroup.fd,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0 && errno == ENOSYS) /* a container's filter */
		pid = (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_PIDFD | SIGCHLD), NULL,
			ret_pidfd, NULL, 0);
	return pid;
}

static void settle(struct canary *c, int status);

static void start(struct canary *c)
{
	int pidfd = -1;

	c->n_own = 0;
	c->generation = c->sb->generation;
	c->started_ms = loop_now_ms(c->loop);
	c->plan.cgroup_fd = c->joins ? c->sb->cgroup.fd : -1;
	c->pid = clone_decoy(c, &pidfd);
	if (c->pid == 0)
		decoy_main(&c->plan);
	if (c->pid < 0 || loop_add(c->loop, &c->end, pidfd, EPOLLIN) < 0) {
		if (c->pid > 0) {
			kill(c->pid, SIGKILL);
			waitpid(c->pid, NULL, 0);
			close(pidfd);
		}
		c->pid = 0;
		settle(c, DECOY_UNABLE);
		return;
	}
	loop_timer_set(c->loop, &c->limit, DECOY_LIMIT_MS);
}

static void on_next(struct loop_timer *timer)
{
	struct canary *c = CONTAINER_OF(timer, struct canary, next);
	const struct sandbox *sb = c->sb;

	if (sb->is_halted)
		return; /* who resumes it lets one run */
	if (c->end.fd >= 0 || sb->is_audit_failed || is_frozen(&sb->cgroup) ||
		c->hooks.is_changing(c->hooks.arg) || draw(c) < 0) {
		loop_timer_set(c->loop, &c->next, AGAIN_MS);
		return;
	}
	start(c);
}

/* --- and its end */

static void fail(struct canary *c, const char *why)
{
	c->is_ok = false;
	snprintf(c->result, sizeof(c->result), "%s", why);
	log_error("the sandbox does not refuse what it must (%s): it is halted", why);
	c->hooks.on_failed(c->hooks.arg, c->result);
}

static void settle(struct canary *c, int status)
{
	char why[128];

	if (c->sb->is_halted) {
		c->hooks.on_done(c->hooks.arg);
		return;
	}
	if (c->sb->generation != c->generation) {
		canary_run_soon(c); /* what it asked for may be allowed now */
		return;
	}
	if (!c->next.heap_slot)
		loop_timer_set(c->loop, &c->next, PERIOD_MS);
	c->n_runs++;
	if (status < DECOY_PASSED && !object_is_attached(c->sb->object)) {
		fail(c, "a hook is not attached any more");
	} else if (status == DECOY_REFUSED) {
		c->is_ok = true;
		c->n_late = 0;
		snprintf(c->result, sizeof(c->result), "refused everywhere");
	} else if (status >= DECOY_PASSED) {
		snprintf(why, sizeof(why), "%s was not refused",
			decoy_text((enum decoy_try)(status - DECOY_PASSED)));
		fail(c, why);
	} else if (++c->n_late > 1) {
		fail(c, "twice in a row nothing answered in time");
	} else {
		snprintf(c->result, sizeof(c->result), "no answer in time");
	}
	c->hooks.on_done(c->hooks.arg);
}

static int reap(struct canary *c)
{
	int fd = c->end.fd, status = 0;

	loop_timer_del(c->loop, &c->limit);
	loop_del(c->loop, &c->end, true);
	close(fd);
	waitpid(c->pid, &status, 0);
	return status;
}

/* Since 6.13 the kernel kills who is cloned into a cgroup when our own was emptied by cgroup.kill
 * once: then it joins by itself, which is slower. */
static void on_end(struct loop_io *io, uint32_t events)
{
	struct canary *c = CONTAINER_OF(io, struct canary, end);
	int status = reap(c);

	(void)events;
	if (WIFSIGNALED(status) && !c->joins && !c->has_started) {
		c->joins = true;
		start(c);
		return;
	}
	c->has_started = true;
	settle(c, WIFEXITED(status) ? WEXITSTATUS(status) : DECOY_LATE);
}

static void on_limit(struct loop_timer *timer)
{
	struct canary *c = CONTAINER_OF(timer, struct canary, limit);

	kill(c->pid, SIGKILL);
	reap(c);
	if (is_frozen(&c->sb->cgroup))
		loop_timer_set(c->loop, &c->next, AGAIN_MS);
	else
		settle(c, DECOY_LATE);
}

void canary_run_soon(struct canary *c)
{
	uint64_t since_ms = loop_now_ms(c->loop) - c->started_ms;

	loop_timer_set(c->loop, &c->next,
		c->started_ms && since_ms < APART_MS ? APART_MS - since_ms : SOON_MS);
}

void canary_void(struct canary *c)
{
	c->generation = 0; /* there is none */
}

/* Its own calls in the kernel's counters. */
static json_t *refused_of(const struct sandbox *sb)
{
	json_t *refused = json_object();

	for (int i = NEJ_REASON_NONE + 1; i < NEJ_REASON_COUNT; i++)
		if (sb->canary_refused[i])
			json_object_set_new(refused, reason_word((enum nej_reason)i),
				json_integer((json_int_t)sb->canary_refused[i]));
	return refused;
}

json_t *canary_print(const struct canary *c)
{
	return json_pack("{s:o, s:s, s:I, s:o}", "ok",
		c->result[0] ? json_boolean(c->is_ok) : json_null(), "result",
		c->result[0] ? c->result : "not tried yet", "runs", (json_int_t)c->n_runs,
		"refused", refused_of(c->sb));
}

int canary_new(struct loop *loop, struct sandbox *sb, const struct canary_hooks *hooks,
	struct canary **ret)
{
	struct canary *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = (struct canary){.loop = loop,
		.sb = sb,
		.hooks = *hooks,
		.next.on_timeout = on_next,
		.limit.on_timeout = on_limit,
		.end = {on_end, -1},
		.joins = sb->joins_itself};
	c->plan.netns_fd = netns_of_listeners(&sb->listeners);
	if (c->plan.netns_fd < 0) {
		int r = c->plan.netns_fd;

		free(c);
		return r;
	}
	audit_sink_on_own(sb->sink, take_own, c);
	canary_run_soon(c);
	*ret = c;
	return 0;
}

void canary_stop(struct canary *c)
{
	if (c->end.fd >= 0) {
		kill(c->pid, SIGKILL);
		reap(c);
	}
	loop_timer_del(c->loop, &c->next);
}

/* Its last events are in the sink by now. */
void canary_free(struct canary *c)
{
	if (!c)
		return;
	canary_stop(c);
	close(c->plan.netns_fd);
	audit_sink_on_own(c->sb->sink, NULL, NULL);
	free(c);
}
