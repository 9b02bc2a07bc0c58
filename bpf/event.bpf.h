/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evidence: every refusal (and every flow let straight out) is counted, folded per destination and
 * put into the ring buffer; and the errno the caller sees. Exactness: what `counters` says is the
 * sum of all folds, plus what LRU made forget. user/kernel/events.c reads both.
 */
#ifndef NEJ_EVENT_BPF_H
#define NEJ_EVENT_BPF_H

#include "decide.bpf.h"

#define EVENT_FOLD_NS 1000000000ull

/* In programs that run in the caller's context only, never in cgroup_skb or sockops. */
static __always_inline void process_fill(struct nej_process *p)
{
	p->pid = bpf_get_current_pid_tgid() >> 32;
	p->uid = bpf_get_current_uid_gid();
	p->cgroup_id = bpf_get_current_cgroup_id();
	bpf_get_current_comm(p->comm, sizeof(p->comm));
}

/* Of a socket that knows its cgroup already, which never changes: saves 56 ns a connect. */
static __always_inline void process_refresh(struct nej_process *p)
{
	if (!p->cgroup_id)
		p->cgroup_id = bpf_get_current_cgroup_id();
	p->pid = bpf_get_current_pid_tgid() >> 32;
	p->uid = bpf_get_current_uid_gid();
	bpf_get_current_comm(p->comm, sizeof(p->comm));
}

struct event_ask {
	struct nej_fold_key key;
	__u32 rule;
};

/* is_current is known when this is compiled: helpers of the current task must not even stand in a
 * packet program before Linux 6.12. */
static __always_inline void event_emit(const struct event_ask *ask,
	const struct nej_process *process, bool is_current, struct nej_fold *fold, __u64 now_ns)
{
	/* The default wakes a reader that has caught up; beyond a quarter it is woken in any case,
	 * so that a flood loses nothing while the reader gathers. */
	__u64 flags = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= NEJ_EVENTS_BYTES / 4
		? BPF_RB_FORCE_WAKEUP
		: 0;
	struct nej_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		counters_add(NEJ_COUNTER_EVENTS_LOST);
		return;
	}
	e->time_ns = now_ns;
	e->total = fold->total;
	e->dest = ask->key.dest;
	e->hook = ask->key.hook;
	e->reason = ask->key.reason;
	e->verdict = ask->key.verdict;
	e->sock_type = ask->key.sock_type;
	e->rule = ask->rule;
	e->pad = 0;
	if (is_current)
		process_fill(&e->process);
	else
		e->process = *process;
	e->born_ns = fold->born_ns;
	fold->process = e->process;
	fold->rule = ask->rule;
	fold->emitted_ns = now_ns;
	bpf_ringbuf_submit(e, flags);
}

/*
 * Counts one refusal under its key. The first in a second is emitted; the others only raise
 * `total`, which the reader sweeps up. A ring that is full leaves emitted_ns alone, so the next one
 * tries again and the total is not lost. The counter goes up last: a reader that takes counters
 * first and folds after never sees a refusal only in the counter.
 */
static __always_inline void event_count(
	const struct event_ask *ask, const struct nej_process *process, bool is_current)
{
	struct nej_fold *fold = bpf_map_lookup_elem(&folds, &ask->key);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!fold) {
		struct nej_fold fresh = {.born_ns = now_ns, .rule = ask->rule};

		bpf_map_update_elem(&folds, &ask->key, &fresh, BPF_NOEXIST);
		fold = bpf_map_lookup_elem(&folds, &ask->key);
	}
	if (!fold)
		return;
	/* The value of an atomic add is not to be had before 5.12; totals may be read late, as the
	 * reader takes differences. */
	__sync_fetch_and_add(&fold->total, 1);
	if (!fold->emitted_ns || now_ns - fold->emitted_ns >= EVENT_FOLD_NS)
		event_emit(ask, process, is_current, fold, now_ns);
}

static __noinline int event_count_current(const struct event_ask *ask)
{
	event_count(ask, NULL, true);
	return 0;
}

static __noinline int event_count_of(const struct event_ask *ask, const struct nej_process *process)
{
	event_count(ask, process, false);
	return 0;
}

/* Of a packet: whose it is, its socket remembers. */
static __always_inline void event_refusal(
	__u8 hook, __u8 reason, struct nej_dest *dest, const struct nej_process *process)
{
	struct event_ask ask = {};

	ask.key.dest = *dest;
	ask.key.hook = hook;
	ask.key.reason = reason;
	ask.key.verdict = NEJ_DENY;
	event_count_of(&ask, process);
	counters_add(reason);
}

/* The errno of a refused call; without bpf_set_retval (before 5.18) it is EPERM. Linux 7.3 wants
 * the argument's bounds visible. */
static __always_inline int refuse_with(__u32 error)
{
	__u64 bounded = error & 0xfff;

	if (nej_set_retval && bounded)
		bpf_set_retval(-(long)bounded);
	return 0;
}

/*
 * The last line of a hook: counts and tells what is to be told, and returns what the kernel wants to
 * hear. The only such place in a program, since each costs the verifier a walk.
 */
static __always_inline int event_finish(
	const struct nej_settings *s, __u8 hook, struct nej_decision *d, struct nej_dest *dest)
{
	bool is_deny = d->verdict == NEJ_DENY;
	struct event_ask ask = {.rule = d->rule};

	if (is_deny && d->is_quiet) {
		counters_add(NEJ_COUNTER_PROBES);
	} else if (is_deny || d->reason == NEJ_REASON_RULE) {
		ask.key.dest = *dest;
		ask.key.hook = hook;
		ask.key.reason = d->reason;
		ask.key.verdict = d->verdict;
		event_count_current(&ask);
		counters_add(is_deny ? d->reason : NEJ_COUNTER_PASSED);
	}
	if (!is_deny)
		return 1;
	return refuse_with(d->error ? d->error : s && s->deny_errno ? s->deny_errno : EACCES);
}

#endif
