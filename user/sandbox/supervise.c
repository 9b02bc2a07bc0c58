/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: one loop, woken by descriptors alone, so that an idle sandbox costs nothing.
 *   init's socket   the command stopped (we stop too) or ended (we end)
 *   worker          pidfd: it died, so start another, at most RESTARTS a minute; then stay closed,
 *                   the listeners shut, so that connects are refused
 *   control socket  a new worker says it serves; then addresses to learn, checked again
 *   detach          of processes that are not ours: they go on as they were before
 *   SIGHUP          where there are secrets, and no terminal that hung up: they are read anew
 *   rings, kernel   events for the log, written once a round; a log that cannot be written refuses
 *                   all traffic (state->refuse for the worker, NEJ_F_AUDIT_FAILED for the hooks)
 *                   until it can
 * If we die, the worker ends by its control socket and the listeners go: connects are refused by the
 * links, which stay pinned.
 */
#include "supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/loop.h"
#include "../kernel/apply.h"
#include "../kernel/events.h"
#include "curfew.h"
#include "equip.h"
#include "job.h"
#include "live.h"
#include "record.h"
#include "refused.h"
#include "renew.h"
#include "shed.h"
#include "tether.h"

#define DRAIN_MS 50
#define RETRY_MS 1000 /* a log that could not be written */
#define RESTARTS 5
#define RESTART_WINDOW_MS 60000
#define SHED_MS 500
#define STOP_MS 3000 /* the worker's last words */
#define RING_URGENT (1ull << 32)

static const int passed_on[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT};

struct supervisor {
	struct sandbox *sb;
	struct loop *loop;
	struct loop_io signals, worker_end, control, wake;
	struct job job;
	struct loop_timer drain_timer, flush_timer, shed_timer;
	struct loop_hook hook;
	struct events *events;
	struct refused *refused;
	struct renew *renew; /* NULL: no secrets */
	struct live *live;
	struct curfew *curfew; /* NULL: it ends when it likes */
	struct tether *tether; /* NULL: the cgroup is our own */
	bool is_dirty;         /* the sink holds something to write */
	bool is_worker_ready;
	uint64_t restarts_ms[RESTARTS]; /* when, the oldest first */
};

void supervise_block_signals(struct sandbox *sb)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	/* written to the terminal from the background; a reader that is gone */
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &sb->signals);
}

/* --- the log */

static void set_audit_failed(struct supervisor *sv, bool is_failed)
{
	struct sandbox *sb = sv->sb;

	sb->is_audit_failed = is_failed;
	if (is_failed)
		log_error("the audit log %s cannot be written%s", sb->audit_path,
			policy_fails_closed(sb->policy) ? ": all traffic is refused until it can"
							: "");
	else
		log_notice("the audit log %s can be written again", sb->audit_path);
	live_apply_refusal(sb);
}

static void flush(struct supervisor *sv)
{
	int in_ms = audit_sink_flush(sv->sb->sink);
	bool is_failed = audit_sink_is_failed(sv->sb->sink);

	sv->is_dirty = false;
	if (is_failed != sv->sb->is_audit_failed)
		set_audit_failed(sv, is_failed);
	if (is_failed)
		in_ms = RETRY_MS;
	if (in_ms >= 0)
		loop_timer_set(sv->loop, &sv->flush_timer, (uint64_t)in_ms);
}

static void write_out(void *arg)
{
	struct supervisor *sv = arg;

	if (sv->is_dirty)
		flush(sv);
}

static void on_round(struct loop_hook *hook)
{
	write_out(CONTAINER_OF(hook, struct supervisor, hook));
}

static void on_flush_timer(struct loop_timer *timer)
{
	flush(CONTAINER_OF(timer, struct supervisor, flush_timer));
}

static void add_event(void *arg, const struct audit_event *event)
{
	struct supervisor *sv = arg;

	audit_sink_add(sv->sb->sink, event);
	sv->is_dirty = true;
}

/* The worker told which name the address stands for before the program could ask for it; what it
 * said must be read first. */
static void add_kernel_event(void *arg, const struct audit_event *event)
{
	struct supervisor *sv = arg;

	for (size_t i = 0; i < HANDOFF_MAX_THREADS && sv->sb->rings[i]; i++)
		if (audit_ring_has_more(sv->sb->rings[i]))
			audit_sink_drain(sv->sb->sink, sv->sb->rings[i]);
	add_event(sv, event);
}

static void add_family(void *arg, const struct audit_event *event)
{
	struct supervisor *sv = arg;
	struct audit_event of_sandbox = *event;

	of_sandbox.generation = sv->sb->generation;
	of_sandbox.cgroup_id = sv->sb->cgroup.id;
	add_event(sv, &of_sandbox);
}

/* True when a ring holds still more: a worker that fills it may not keep us here. */
static bool drain(struct supervisor *sv)
{
	uint64_t n_lost = events_lost(sv->events);
	bool has_more = false;

	for (size_t i = 0; i < HANDOFF_MAX_THREADS && sv->sb->rings[i]; i++) {
		audit_sink_drain(sv->sb->sink, sv->sb->rings[i]);
		has_more |= audit_ring_has_more(sv->sb->rings[i]);
	}
	if (n_lost)
		record_lost(sv->sb, n_lost, "refusals in the kernel");
	sv->is_dirty = true;
	if (has_more)
		loop_timer_set(sv->loop, &sv->drain_timer, 0);
	return has_more;
}

static void on_drain_timer(struct loop_timer *timer)
{
	drain(CONTAINER_OF(timer, struct supervisor, drain_timer));
}

/* Loading, at the start and at a reload, took much that staying does not; a command that ends soon does
 * not wait for it. */
static void on_shed_timer(struct loop_timer *timer)
{
	(void)timer;
	shed_memory();
}

static void on_wake(struct loop_io *io, uint32_t events)
{
	struct supervisor *sv = CONTAINER_OF(io, struct supervisor, wake);
	uint64_t value = 0;

	(void)events;
	if (read(io->fd, &value, sizeof(value)) != sizeof(value))
		return;
	if (value >= RING_URGENT)
		drain(sv);
	else if (!sv->drain_timer.heap_slot)
		loop_timer_set(sv->loop, &sv->drain_timer, DRAIN_MS);
}

/* --- the worker */

static void on_worker_end(struct loop_io *io, uint32_t events);
static void on_control(struct loop_io *io, uint32_t events);

static int watch_worker(struct supervisor *sv)
{
	const struct companion *w = &sv->sb->worker;
	int r = loop_add(sv->loop, &sv->worker_end, w->pidfd, EPOLLIN);

	return r < 0 ? r : loop_add(sv->loop, &sv->control, w->control, EPOLLIN);
}

static void unwatch_worker(struct supervisor *sv)
{
	loop_del(sv->loop, &sv->worker_end, true);
	loop_del(sv->loop, &sv->control, true);
}

/* May another one be started? */
static bool take_restart(struct supervisor *sv)
{
	uint64_t now = loop_now_ms(sv->loop);

	if (sv->restarts_ms[0] && now - sv->restarts_ms[0] < RESTART_WINDOW_MS)
		return false;
	memmove(sv->restarts_ms, sv->restarts_ms + 1, sizeof(sv->restarts_ms[0]) * (RESTARTS - 1));
	sv->restarts_ms[RESTARTS - 1] = now;
	return true;
}

static int start_worker(struct supervisor *sv)
{
	struct sandbox *sb = sv->sb;
	int flows, r = equip_start(sb);

	if (r < 0)
		return r;
	sv->is_worker_ready = false;
	flows = object_flows_fd(sb->object);
	r = flows < 0 ? flows : companion_give_flows(&sb->worker, flows);
	cleanup_close(&flows);
	return r < 0 ? r : watch_worker(sv);
}

static void give_up_worker(struct supervisor *sv, const char *why)
{
	log_error("the worker does not stay alive (%s): the sandbox is cut off", why);
	netns_listeners_close(&sv->sb->listeners);
}

static void restart_worker(struct supervisor *sv)
{
	int r;

	unwatch_worker(sv);
	companion_stop(&sv->sb->worker, 0);
	drain(sv);
	live_on_worker_end(sv->live);
	if (!take_restart(sv)) {
		record_worker(sv->sb, "too many restarts: not started again");
		sv->is_dirty = true;
		give_up_worker(sv, "five restarts within a minute");
		return;
	}
	live_count_restart(sv->live);
	log_warning("the worker ended; starting another");
	record_worker(sv->sb, "it had ended");
	sv->is_dirty = true;
	r = start_worker(sv);
	if (r < 0) {
		unwatch_worker(sv);
		companion_stop(&sv->sb->worker, 0);
		give_up_worker(sv, strerror(-r));
	}
}

static void on_worker_end(struct loop_io *io, uint32_t events)
{
	(void)events;
	restart_worker(CONTAINER_OF(io, struct supervisor, worker_end));
}

/* A new worker has a new authority. */
static int take_ready(struct supervisor *sv)
{
	struct companion_ready ready;
	int r = companion_wait_ready(&sv->sb->worker, 0, &ready);

	if (r < 0)
		return r;
	sv->is_worker_ready = true;
	r = equip_finish(sv->sb, &ready);
	if (r < 0)
		log_error("cannot write the trust files: %s", strerror(-r));
	return 0;
}

/* What the worker says that is no address to learn. */
static int take_word(struct supervisor *sv, int fd)
{
	struct init_message message;
	int r = init_recv(fd, &message, NULL);

	if (r <= 0)
		return r < 0 ? r : -EPIPE;
	if (message.word == INIT_COUNTED)
		live_on_counted(sv->live, message.value);
	else if (message.word == INIT_TURNED)
		live_on_turned(sv->live, message.value);
	else
		return -EBADMSG;
	return 0;
}

static void on_control(struct loop_io *io, uint32_t events)
{
	struct supervisor *sv = CONTAINER_OF(io, struct supervisor, control);
	struct sandbox *sb = sv->sb;
	struct init_message word;
	int r;

	(void)events;
	if (!sv->is_worker_ready)
		r = take_ready(sv);
	else if (recv(io->fd, &word, sizeof(word), MSG_PEEK | MSG_TRUNC) == sizeof(word))
		r = take_word(sv, io->fd);
	else
		r = apply_learn(sb->object, sb->policy, io->fd);
	if (r == -EPIPE) {
		loop_del(sv->loop, io, true); /* its end follows */
	} else if (r == -EBADMSG) {
		log_error("the worker said what no worker says: it is ended");
		restart_worker(sv);
	}
}

/* --- secrets */

static void on_renewed(void *arg, const char *read, const char *failed)
{
	struct supervisor *sv = arg;
	_cleanup_close_ int fd = secrets_encode(&sv->sb->secrets);
	int r = fd;

	if (fd >= 0 && sv->sb->worker.control >= 0)
		r = init_send(sv->sb->worker.control, INIT_SECRETS, 0, NULL, fd);
	if (r < 0)
		log_error("the worker keeps the secrets it has: %s", strerror(-r));
	if (*read)
		log_notice("secrets were read anew: %s", read);
	if (*failed)
		log_error("secrets cannot be read any more, requests that need them are refused: "
			  "%s",
			failed);
	record_secrets(sv->sb, read, failed);
	sv->is_dirty = true;
}

static void renew(struct supervisor *sv)
{
	int r = renew_start(sv->renew);

	if (r < 0)
		log_error("cannot read the secrets anew: %s", strerror(-r));
}

/* --- changes while it runs */

static void on_live_record(void *arg)
{
	struct supervisor *sv = arg;

	sv->is_dirty = true;
}

static void on_live_policy(void *arg)
{
	struct supervisor *sv = arg;

	loop_timer_set(sv->loop, &sv->shed_timer, SHED_MS);
	if (sv->renew)
		renew(sv);
}

/* --- processes that are not ours */

static void let_go(struct supervisor *sv, const char *why)
{
	sv->sb->ended_by = why;
	loop_stop(sv->loop, 0);
}

static void on_live_detach(void *arg)
{
	let_go(arg, "nej detach");
}

static void take_events(void *arg)
{
	struct supervisor *sv = arg;

	if (sv->events)
		events_drain(sv->events);
}

static void on_target_over(void *arg)
{
	struct supervisor *sv = arg;

	let_go(sv,
		sv->sb->options->is_until_empty ? "its processes have ended"
						: "its cgroup is gone");
}

static int watch_target(struct supervisor *sv)
{
	struct sandbox *sb = sv->sb;

	if (sb->options->is_uid_guard)
		return 0; /* the cgroup root stays */
	return tether_new(sv->loop, &sb->cgroup, sb->options->is_until_empty, on_target_over, sv,
		&sv->tether);
}

/* --- a command that does not end by itself */

static void on_curfew_term(void *arg)
{
	struct supervisor *sv = arg;

	job_signal(&sv->job, SIGTERM, false);
}

static void on_curfew_kill(void *arg)
{
	struct supervisor *sv = arg;

	sv->sb->wait_status = SIGKILL;
	loop_stop(sv->loop, 0);
}

static int watch_command(struct supervisor *sv)
{
	const struct curfew_hooks hooks = {on_curfew_term, on_curfew_kill, sv};
	int r = job_watch(&sv->job, sv->loop, sv->sb);

	return r < 0 ? r : curfew_new(sv->loop, sv->sb, &hooks, &sv->curfew);
}

/* --- signals */

static void on_signal(struct loop_io *io, uint32_t events)
{
	struct supervisor *sv = CONTAINER_OF(io, struct supervisor, signals);
	struct signalfd_siginfo info;
	int signal;

	(void)events;
	if (read(io->fd, &info, sizeof(info)) != sizeof(info))
		return;
	signal = (int)info.ssi_signo;
	if (sv->sb->is_attached) {
		if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT)
			let_go(sv, "a signal");
		return;
	}
	if (signal == SIGTERM)
		curfew_on_term(sv->curfew);
	if (signal == SIGHUP && sv->renew && info.ssi_code != SI_KERNEL &&
		!terminal_is_gone(&sv->sb->terminal))
		renew(sv); /* for us: it asks for new secrets */
	else
		job_signal(&sv->job, signal, info.ssi_code == SI_KERNEL);
}

/* --- all of it */

static int watch_signals(struct supervisor *sv)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_add(sv->loop, &sv->signals, fd, EPOLLIN);
}

static int build(struct supervisor *sv)
{
	const struct live_hooks hooks = {
		on_live_record, on_live_policy, on_live_detach, take_events, sv};
	struct sandbox *sb = sv->sb;
	int r = loop_new(&sv->loop);

	if (r < 0)
		return r;
	loop_hook_add(sv->loop, &sv->hook);
	r = watch_signals(sv);
	if (r >= 0)
		r = sb->is_attached ? watch_target(sv) : watch_command(sv);
	if (r >= 0)
		r = loop_add(sv->loop, &sv->wake, sb->companion_plan.wake_fd, EPOLLIN);
	if (r >= 0)
		r = watch_worker(sv);
	if (r >= 0)
		r = events_new(sv->loop, sb->object, add_kernel_event, sv, &sv->events);
	if (r >= 0 && sb->secrets.n)
		r = renew_new(sv->loop, &sb->secrets, on_renewed, sv, &sv->renew);
	if (r >= 0)
		r = live_new(sv->loop, sb, &hooks, &sv->live);
	if (r >= 0 && sb->refused_fd >= 0)
		r = refused_new(sv->loop, TAKE_FD(sb->refused_fd), add_family, sv, &sv->refused);
	return r;
}

/* The command is gone; what it did is not all written yet. */
static void finish(struct supervisor *sv)
{
	struct sandbox *sb = sv->sb;

	live_quiet(sv->live);
	terminal_take_back(&sb->terminal);
	spawn_done(&sb->init);
	if (!sb->is_attached && cgroup_kill(&sb->cgroup) < 0)
		log_warning("processes of the sandbox do not end");
	if (sv->worker_end.fd >= 0)
		unwatch_worker(sv);
	companion_stop(&sb->worker, STOP_MS);
	if (sv->events) {
		events_drain(sv->events);
		/* nobody fills them any more */
		while (drain(sv))
			;
	}
	flush(sv);
}

static void done(struct supervisor *sv)
{
	int signal_fd = sv->signals.fd;

	sv->sb->n_families = refused_count(sv->refused, NEJ_REASON_FAMILY);
	sv->sb->n_types = refused_count(sv->refused, NEJ_REASON_SOCKET_TYPE);
	refused_free(sv->refused);
	renew_free(sv->renew);
	live_free(sv->live);
	curfew_free(sv->curfew);
	tether_free(sv->tether);
	events_free(sv->events);
	cleanup_close(&signal_fd);
	loop_free(sv->loop);
}

int supervise(struct sandbox *sb, void (*on_ready)(void *arg), void *arg)
{
	struct supervisor sv = {
		.sb = sb,
		.signals = {on_signal, -1},
		.job = {.before_stop = write_out, .arg = &sv},
		.worker_end = {on_worker_end, -1},
		.control = {on_control, -1},
		.wake = {on_wake, -1},
		.drain_timer.on_timeout = on_drain_timer,
		.flush_timer.on_timeout = on_flush_timer,
		.shed_timer.on_timeout = on_shed_timer,
		.hook.on_round = on_round,
		.is_worker_ready = true,
	};
	int r = build(&sv);

	if (r < 0)
		log_error("cannot watch over the sandbox: %s", strerror(-r));
	if (r >= 0 && on_ready)
		on_ready(arg);
	if (r >= 0) {
		loop_timer_set(sv.loop, &sv.shed_timer, SHED_MS);
		r = loop_run(sv.loop);
	}
	finish(&sv);
	done(&sv);
	return r;
}
