/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: one loop. The folder is looked at when inotify tells of it, every half minute
 * (for files that policies name elsewhere), and on SIGHUP; what changed is told to the worker, which
 * is told everything anew when it had to be replaced. SIGTERM and SIGINT: no more clients, ten
 * seconds for those that are here; a second one ends at once. If we die, the worker ends by its
 * control socket, and clients are refused.
 */
#include "gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/loop.h"
#include "gatehouse.h"
#include "gateway_equip.h"

#define DRAIN_MS 50
#define RETRY_MS 1000 /* a log that could not be written */
#define LOOK_MS 30000
#define LEAVE_MS 10000
#define STOP_MS 3000
#define READY_MS 10000
#define RESTARTS 5
#define RESTART_WINDOW_MS 60000
#define RING_URGENT (1ull << 32)
#define N_FORGET 64 /* generations remembered for records still under way */

static const int watched[] = {SIGTERM, SIGINT, SIGHUP};

struct supervisor {
	struct gateway g;
	struct tenants tenants;
	struct loop *loop;
	struct loop_io signals, folder, wake, worker_end;
	struct loop_timer drain_timer, flush_timer, look_timer, leave_timer;
	struct loop_hook hook;
	bool is_dirty, is_audit_failed, is_leaving, is_worker_up;
	uint64_t restarts_ms[RESTARTS];
	uint32_t forget[N_FORGET];
	size_t next_forget;
};

/* --- the log */

static void flush(struct supervisor *sv)
{
	int in_ms = audit_sink_flush(sv->g.sink);
	bool is_failed = audit_sink_is_failed(sv->g.sink);

	sv->is_dirty = false;
	if (is_failed != sv->is_audit_failed) {
		sv->is_audit_failed = is_failed;
		log_message(is_failed ? LOG_LEVEL_ERROR : LOG_LEVEL_NOTICE, "audit=%s %s",
			sv->g.audit_path,
			is_failed ? "cannot be written: sandboxes are refused until it can"
				  : "can be written again");
		atomic_store(&sv->g.state->refuse,
			is_failed ? NEJ_REASON_AUDIT_UNAVAILABLE : NEJ_REASON_NONE);
	}
	if (is_failed)
		in_ms = RETRY_MS;
	if (in_ms >= 0)
		loop_timer_set(sv->loop, &sv->flush_timer, (uint64_t)in_ms);
}

static void on_round(struct loop_hook *hook)
{
	struct supervisor *sv = CONTAINER_OF(hook, struct supervisor, hook);

	if (sv->is_dirty)
		flush(sv);
}

static void on_flush_timer(struct loop_timer *timer)
{
	flush(CONTAINER_OF(timer, struct supervisor, flush_timer));
}

static void drain(struct supervisor *sv)
{
	audit_sink_drain(sv->g.sink, sv->g.ring);
	sv->is_dirty = true;
	if (audit_ring_has_more(sv->g.ring))
		loop_timer_set(sv->loop, &sv->drain_timer, 0);
}

static void on_drain_timer(struct loop_timer *timer)
{
	drain(CONTAINER_OF(timer, struct supervisor, drain_timer));
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

static void lookup_rule(void *arg, uint32_t generation, uint32_t rule, const char **ret_text,
	unsigned int *ret_line, const char **ret_note)
{
	struct supervisor *sv = arg;
	const struct policy *policy = tenants_policy(&sv->tenants, generation);
	struct policy_rule_info info;

	if (!policy || !policy_rule(policy, rule, &info))
		return;
	*ret_text = info.text;
	*ret_line = info.line;
	*ret_note = info.note;
}

/* --- sandboxes */

static void tell(struct supervisor *sv, enum gatehouse_word word, const struct tenant *t)
{
	struct gatehouse_message m = {.word = word};
	int fd = -1, r;

	if (!sv->is_worker_up)
		return; /* it will be told all */
	if (t) {
		m.generation = t->generation;
		memcpy(m.name, t->name, sizeof(m.name));
		memcpy(m.hash, t->hash, sizeof(m.hash));
		m.has_policy = t->policy != NULL;
		fd = t->policy ? policy_fd(t->policy) : -1;
	}
	r = gatehouse_send(sv->g.worker.control, &m, fd);
	explicit_bzero(&m, sizeof(m));
	if (r >= 0)
		return;
	/* one that does not hear would go by an old policy: its end follows, and another one's start */
	log_error("the worker does not listen (%s): it is ended", strerror(-r));
	sv->is_worker_up = false;
	kill(sv->g.worker.pid, SIGKILL);
}

static void on_change(void *arg, struct tenant *t)
{
	struct supervisor *sv = arg;

	drain(sv); /* what was decided before is written as what it was */
	audit_sink_set_sandbox(sv->g.sink, t->generation, t->name,
		t->policy ? policy_sha256(t->policy) : NULL, lookup_rule, sv);
	gateway_record_policy(&sv->g, t);
	sv->is_dirty = true;
	tell(sv, GATEHOUSE_SET, t);
}

static void on_gone(void *arg, struct tenant *t)
{
	tell(arg, GATEHOUSE_GONE, t);
}

/* Not at once: the last records are still to come. */
static void on_forget(void *arg, uint32_t generation)
{
	struct supervisor *sv = arg;
	uint32_t *slot = &sv->forget[sv->next_forget++ % N_FORGET];

	if (!generation)
		return;
	if (*slot)
		audit_sink_forget(sv->g.sink, *slot);
	*slot = generation;
}

static void look(struct supervisor *sv)
{
	int r = tenants_scan(&sv->tenants);

	if (r < 0)
		log_error("policies=%s: %s", sv->tenants.dir,
			r == -EPERM ? "others than root could change it" : strerror(-r));
	loop_timer_set(sv->loop, &sv->look_timer, LOOK_MS);
}

static void on_look_timer(struct loop_timer *timer)
{
	look(CONTAINER_OF(timer, struct supervisor, look_timer));
}

static void on_folder(struct loop_io *io, uint32_t events)
{
	char told[4096];

	(void)events;
	while (read(io->fd, told, sizeof(told)) > 0)
		;
	look(CONTAINER_OF(io, struct supervisor, folder));
}

/* --- the worker */

static int start_worker(struct supervisor *sv)
{
	struct companion *w = &sv->g.worker;
	struct companion_ready ready;
	int r = companion_start(&sv->g.plan, w);

	if (r >= 0)
		r = companion_wait_ready(w, READY_MS, &ready);
	if (r >= 0)
		r = gateway_limit_sends(w->control);
	if (r >= 0)
		r = loop_add(sv->loop, &sv->worker_end, w->pidfd, EPOLLIN);
	if (r < 0) {
		companion_stop(w, 0);
		return r;
	}
	sv->is_worker_up = true;
	for (const struct tenant *t = sv->tenants.first; t; t = t->next)
		tell(sv, GATEHOUSE_SET, t);
	tell(sv, GATEHOUSE_OPEN, NULL);
	return 0;
}

static bool take_restart(struct supervisor *sv)
{
	uint64_t now = loop_now_ms(sv->loop);

	if (sv->restarts_ms[0] && now - sv->restarts_ms[0] < RESTART_WINDOW_MS)
		return false;
	memmove(sv->restarts_ms, sv->restarts_ms + 1, sizeof(sv->restarts_ms[0]) * (RESTARTS - 1));
	sv->restarts_ms[RESTARTS - 1] = now;
	return true;
}

static void on_worker_end(struct loop_io *io, uint32_t events)
{
	struct supervisor *sv = CONTAINER_OF(io, struct supervisor, worker_end);
	int r;

	(void)events;
	loop_del(sv->loop, io, true);
	companion_stop(&sv->g.worker, STOP_MS);
	sv->is_worker_up = false;
	drain(sv);
	if (sv->is_leaving) {
		loop_stop(sv->loop, 0);
		return;
	}
	gateway_record_worker(&sv->g);
	if (!take_restart(sv)) {
		log_error("the worker ended five times within a minute: giving up");
		loop_stop(sv->loop, GATEWAY_EXIT_FAILED);
		return;
	}
	log_warning("the worker ended; starting another");
	r = start_worker(sv);
	if (r < 0) {
		log_error("the worker does not start: %s", strerror(-r));
		loop_stop(sv->loop, GATEWAY_EXIT_FAILED);
	}
}

/* --- another certificate */

/* For the worker that is there, and for one started later. */
static void read_certificate(struct supervisor *sv)
{
	struct gatehouse_message m = {.word = GATEHOUSE_CERT};
	const char *what = "";
	int fd, r = gateway_read_pem(sv->g.options, &fd, &what);

	if (r < 0)
		log_error("the old certificate stays: %s: %s", what, strerror(-r));
	if (r < 0 || fd < 0)
		return;
	cleanup_close(&sv->g.plan.secrets_fd);
	sv->g.plan.secrets_fd = fd;
	if (sv->is_worker_up)
		(void)gatehouse_send(sv->g.worker.control, &m, fd);
}

/* --- the end */

static void on_leave_timer(struct loop_timer *timer)
{
	loop_stop(CONTAINER_OF(timer, struct supervisor, leave_timer)->loop, 0);
}

static void begin_leaving(struct supervisor *sv)
{
	if (sv->is_leaving || !sv->is_worker_up) {
		loop_stop(sv->loop, 0);
		return;
	}
	log_notice("ending: no more clients");
	sv->is_leaving = true;
	gateway_close_listeners(&sv->g);
	tell(sv, GATEHOUSE_LEAVE, NULL);
	loop_timer_set(sv->loop, &sv->leave_timer, LEAVE_MS);
}

static void on_signal(struct loop_io *io, uint32_t events)
{
	struct supervisor *sv = CONTAINER_OF(io, struct supervisor, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(io->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		read_certificate(sv);
		look(sv);
	} else {
		begin_leaving(sv);
	}
}

/* --- all of it */

static int watch_signals(struct supervisor *sv)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_add(sv->loop, &sv->signals, fd, EPOLLIN);
}

/* Moving a file into place, writing one, taking one away, another mode or owner. */
static int watch_folder(struct supervisor *sv)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (inotify_add_watch(fd, sv->tenants.dir,
		    IN_CLOSE_WRITE | IN_MOVE | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF |
			    IN_MOVE_SELF | IN_ONLYDIR) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return loop_add(sv->loop, &sv->folder, fd, EPOLLIN);
}

static int begin(struct supervisor *sv)
{
	int r = loop_new(&sv->loop);

	if (r < 0)
		return r;
	loop_hook_add(sv->loop, &sv->hook);
	r = watch_signals(sv);
	if (r >= 0)
		r = watch_folder(sv);
	if (r < 0) {
		log_error("policies=%s: %s", sv->tenants.dir, strerror(-r));
		return r;
	}
	r = tenants_scan(&sv->tenants);
	if (r < 0) {
		log_error("policies=%s: %s", sv->tenants.dir,
			r == -EPERM ? "others than root could change it" : strerror(-r));
		return r;
	}
	r = loop_add(sv->loop, &sv->wake, sv->g.plan.wake_fd, EPOLLIN);
	if (r >= 0)
		r = start_worker(sv);
	if (r < 0)
		log_error("cannot start the worker: %s", strerror(-r));
	loop_timer_set(sv->loop, &sv->look_timer, LOOK_MS);
	return r;
}

static void finish(struct supervisor *sv)
{
	if (sv->worker_end.fd >= 0)
		loop_del(sv->loop, &sv->worker_end, true);
	companion_stop(&sv->g.worker, STOP_MS);
	do
		audit_sink_drain(sv->g.sink, sv->g.ring);
	while (audit_ring_has_more(sv->g.ring));
	gateway_record_end(&sv->g);
	gateway_close(&sv->g);
	tenants_free(&sv->tenants);
}

int gateway_run(const struct gateway_options *options)
{
	static struct supervisor sv = {
		.signals = {on_signal, -1},
		.folder = {on_folder, -1},
		.wake = {on_wake, -1},
		.worker_end = {on_worker_end, -1},
		.drain_timer.on_timeout = on_drain_timer,
		.flush_timer.on_timeout = on_flush_timer,
		.look_timer.on_timeout = on_look_timer,
		.leave_timer.on_timeout = on_leave_timer,
		.hook.on_round = on_round,
		.tenants = {.on_change = on_change, .on_gone = on_gone, .on_forget = on_forget},
	};
	int r;

	log_set_name("nej gateway");
	sv.tenants.dir = options->policies;
	sv.tenants.arg = &sv;
	r = gateway_open(options, &sv.g);
	if (r)
		return r;
	r = begin(&sv) < 0 ? GATEWAY_EXIT_FAILED : 0;
	if (!r) {
		gateway_say_ready(&sv.g, sv.tenants.n);
		r = loop_run(sv.loop);
	}
	finish(&sv);
	return r < 0 ? GATEWAY_EXIT_FAILED : r;
}
