/* SPDX-License-Identifier: GPL-2.0-only */
/* From events to the log file: rules and policy by name, folds, failures, head; see sink.h. */
#include "sink.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "fold.h"
#include "head.h"
#include "json.h"
#include "names.h"
#include "recover.h"
#include "tally.h"

#define MAX_BACKLOG_BYTES (4u << 20) /* kept while the log cannot be written; the rest is counted */
#define MAX_IDLE_BYTES (256u << 10)  /* of an emptied buffer that is kept */
#define HEAD_RECORDS 1000
#define HEAD_MS 1000
#define RETRY_MS 200
#define N_POLICIES 4 /* generations whose events may still be under way */
#define N_RULES 64   /* rules kept as JSON */
#define MAX_RULE_TEXT 1024

struct policy_known {
	uint32_t generation;
	bool is_used;
	char json[80];     /* "sha256:…" with quotes, or null */
	char sandbox[136]; /* its name as JSON; empty: the log's own */
	audit_rule_lookup *lookup;
	void *arg;
};

struct rule_known {
	uint32_t generation, rule;
	bool is_known, has_note;
	struct buf json, note;
};

struct audit_sink {
	struct logfile file;
	struct chain chain;
	struct chain_key *key; /* NULL: heads are not signed */
	struct folds *folds;
	struct names *names;
	struct buf sandbox; /* its name as JSON */
	struct buf subject; /* the same, and the container's id behind it */
	struct buf out;     /* sealed records that are not in the file yet */
	uint64_t rotate_bytes, rotate_at;
	unsigned int rotate_keep;

	uint64_t first;       /* oldest record kept */
	uint64_t written_seq; /* newest record in the file */
	uint64_t head_seq;    /* and in the head */
	uint64_t head_ms;
	bool is_first_new; /* `first` is not in the head yet */

	bool is_open; /* the old log was understood: closing may write */
	bool is_failed, is_head_failed;
	int error; /* why, negative errno */
	uint64_t failed_ms;
	uint64_t lost; /* attempts for which the backlog had no room */

	struct policy_known *policies;
	unsigned int n_policies, next_policy;
	struct rule_known rules[N_RULES];
	uint64_t counts[NEJ_REASON_COUNT];
	struct tally tally;
	bool (*is_own)(void *arg, struct audit_event *event); /* NULL: all are recorded */
	void *own_arg;
};

DEFINE_CLEANUP(struct audit_sink, audit_sink_close);

static const struct policy_known *find_policy(const struct audit_sink *s, uint32_t generation)
{
	for (size_t i = 0; i < s->n_policies; i++)
		if (s->policies[i].is_used && s->policies[i].generation == generation)
			return &s->policies[i];
	return NULL;
}

static void add_capped(struct buf *b, const char *text)
{
	buf_add_json(b, text, strlen(text), MAX_RULE_TEXT);
}

/* A rule as JSON; the newest ones are kept, because few rules decide most attempts. */
static const struct rule_known *find_rule(
	struct audit_sink *s, const struct policy_known *policy, uint32_t rule)
{
	struct rule_known *known = &s->rules[rule % N_RULES];
	const char *text = NULL, *note = NULL;
	unsigned int line = 0;

	if (known->is_known && known->rule == rule && known->generation == policy->generation)
		return known;
	policy->lookup(policy->arg, policy->generation, rule, &text, &line, &note);
	if (!text)
		return NULL;
	known->is_known = false;
	buf_clear(&known->json);
	buf_printf(&known->json, "{\"line\":%u,\"text\":", line);
	add_capped(&known->json, text);
	buf_add_char(&known->json, '}');
	known->has_note = note != NULL;
	buf_clear(&known->note);
	if (note)
		add_capped(&known->note, note);
	if (known->json.is_failed || known->note.is_failed)
		return NULL;
	known->rule = rule;
	known->generation = policy->generation;
	known->is_known = true;
	return known;
}

static int append(struct audit_sink *s);

/* May one more record be gathered? */
static bool has_backlog_room(struct audit_sink *s)
{
	if (s->out.len < MAX_BACKLOG_BYTES)
		return true;
	return !s->is_failed && append(s) == 0;
}

static void add_record(struct audit_sink *s, const struct audit_event *e, const char *more)
{
	const struct policy_known *policy = find_policy(s, e->generation);
	const struct rule_known *rule = NULL;
	bool has_room = has_backlog_room(s);
	size_t start = s->out.len;
	struct json_extra extra = {
		.seq = s->chain.seq + 1,
		.sandbox = policy && policy->sandbox[0] ? policy->sandbox : s->subject.data,
		.policy = policy ? policy->json : "null",
		.rule = "null",
		.more = more,
	};

	if (!has_room) {
		s->lost += e->count;
		return;
	}
	if (e->rule != AUDIT_NO_RULE && policy && policy->lookup)
		rule = find_rule(s, policy, e->rule);
	if (rule) {
		extra.rule = rule->json.data;
		extra.note = rule->has_note ? rule->note.data : NULL;
	}
	if (json_encode(&s->out, e, &extra) == 0 && chain_seal(&s->chain, &s->out, start) == 0)
		return;
	s->out.len = start;
	s->out.is_failed = false;
	s->lost += e->count;
}

static void on_folded(const struct audit_event *e, void *arg)
{
	add_record(arg, e, NULL);
}

/* The end is the last record, behind all that is still gathered. */
static void close_before_end(struct audit_sink *s, const struct audit_event *e)
{
	if (e->kind == AUDIT_SANDBOX_FINISHED)
		folds_close(s->folds, UINT64_MAX, on_folded, s);
}

void audit_sink_add(struct audit_sink *s, const struct audit_event *asked)
{
	struct audit_event named = *asked;
	const struct audit_event *e = &named;
	bool is_refusal = e->kind == AUDIT_NETWORK_BLOCKED || e->kind == AUDIT_DNS_BLOCKED;

	if (s->is_own && s->is_own(s->own_arg, &named))
		return;
	tally_add(&s->tally, e);
	if (e->layer == AUDIT_LAYER_KERNEL && e->has_addr && !e->host.ptr)
		named.host = names_find(s->names, &e->addr);
	if (is_refusal && e->layer == AUDIT_LAYER_KERNEL && e->reason < NEJ_REASON_COUNT)
		s->counts[e->reason] += e->count;
	if (is_refusal) {
		uint64_t now_ms = clock_monotonic_ms();

		folds_close(s->folds, now_ms, on_folded, s);
		if (folds_take(s->folds, e, now_ms))
			return;
	}
	close_before_end(s, e);
	add_record(s, e, NULL);
}

void audit_sink_add_extra(struct audit_sink *s, const struct audit_event *e, const char *extra)
{
	close_before_end(s, e);
	add_record(s, e, extra);
}

/* A record of the log about itself. */
static void add_own(struct audit_sink *s, enum audit_kind kind, enum nej_reason reason,
	uint64_t count, const char *detail, const char *more)
{
	struct audit_event e = {
		.kind = (uint8_t)kind,
		.layer = AUDIT_LAYER_SUPERVISOR,
		.reason = (uint8_t)reason,
		.rule = AUDIT_NO_RULE,
		.generation = UINT32_MAX,
		.count = count,
		.time_us = clock_real_us(),
		.detail = {detail, (uint32_t)strlen(detail)},
	};

	tally_add(&s->tally, &e);
	add_record(s, &e, more);
}

static void fail(struct audit_sink *s, int error)
{
	if (!s->is_failed) {
		s->failed_ms = clock_monotonic_ms();
		log_error("the audit log %s cannot be written: %s", s->file.path, strerror(-error));
	}
	s->is_failed = true;
	s->error = error;
}

static void shrink_out(struct audit_sink *s)
{
	if (s->out.cap > MAX_IDLE_BYTES)
		buf_done(&s->out);
	else
		buf_clear(&s->out);
}

static int append(struct audit_sink *s)
{
	uint64_t size = s->file.size_bytes;
	int r;

	if (!s->out.len)
		return 0;
	r = logfile_append(&s->file, s->out.data, s->out.len);
	if (r < 0) {
		fail(s, r);
		return r;
	}
	s->written_seq = s->chain.seq;
	shrink_out(s);
	if (s->file.is_changed) {
		char more[96];

		s->file.is_changed = false;
		snprintf(more, sizeof(more), "\"expected_bytes\":%llu,\"found_bytes\":%llu",
			(unsigned long long)size, (unsigned long long)s->file.size_bytes);
		log_warning("the audit log %s was changed by somebody else", s->file.path);
		add_own(s, AUDIT_AUDIT_GAP, NEJ_REASON_NONE, 1,
			"the log was changed by somebody else while it was written", more);
	}
	return 0;
}

/* Says how long nothing could be written, and how many attempts have no record because of it. */
static void add_recovered(struct audit_sink *s)
{
	char detail[160];

	if (!s->is_failed && !s->lost)
		return;
	snprintf(detail, sizeof(detail), "the log could not be written for %llu ms: %s",
		s->is_failed ? (unsigned long long)(clock_monotonic_ms() - s->failed_ms) : 0,
		s->error ? strerror(-s->error) : "out of memory");
	if (s->is_failed)
		log_notice("the audit log %s can be written again, %llu attempts are not in it",
			s->file.path, (unsigned long long)s->lost);
	add_own(s, AUDIT_EVENTS_LOST, NEJ_REASON_AUDIT_UNAVAILABLE, s->lost, detail, NULL);
	s->lost = 0;
	s->is_failed = false;
}

static void write_head(struct audit_sink *s, uint64_t now_ms, bool want_sync)
{
	struct head head = {.seq = s->written_seq, .first = s->first};
	int r;

	/* Nothing unwritten may be in the head: the chain then stands at the newest in the file. */
	if (s->out.len)
		return;
	memcpy(head.hash, s->chain.hash, sizeof(head.hash));
	r = head_write(s->file.path, &head, s->sandbox.data, s->key, want_sync);
	if (r < 0 && !s->is_head_failed)
		log_error("the audit log's head %s.head cannot be written: %s", s->file.path,
			strerror(-r));
	s->is_head_failed = r < 0;
	if (r < 0)
		return;
	s->head_seq = s->written_seq;
	s->head_ms = now_ms;
	s->is_first_new = false;
}

static bool is_head_due(const struct audit_sink *s, uint64_t now_ms)
{
	if (s->is_head_failed || s->is_first_new)
		return true;
	if (s->head_seq == s->written_seq)
		return false;
	return s->written_seq - s->head_seq >= HEAD_RECORDS || now_ms - s->head_ms >= HEAD_MS;
}

/* What will be the oldest record once the oldest file is gone. */
static uint64_t first_after_rotation(const struct audit_sink *s)
{
	unsigned int keep = s->rotate_keep ? s->rotate_keep : 1;
	char name[PATH_MAX];
	uint64_t first = s->first;

	if (logfile_count_old(s->file.path) < keep)
		return first;
	logfile_name(s->file.path, keep - 1, name);
	recover_first_seq(name, &first);
	return first;
}

static void rotate(struct audit_sink *s, uint64_t now_ms)
{
	uint64_t first = first_after_rotation(s);
	int r;

	/* Before the oldest goes: a head that names a younger one is never wrong. */
	s->is_first_new = first != s->first;
	s->first = first;
	write_head(s, now_ms, false);
	if (s->is_head_failed)
		return;
	r = logfile_rotate(&s->file, s->rotate_keep);
	if (r == 0) {
		s->rotate_at = s->rotate_bytes;
		return;
	}
	log_warning("the audit log %s cannot be rotated: %s", s->file.path, strerror(-r));
	s->rotate_at = s->file.size_bytes + s->rotate_bytes / 8 + 1;
}

static int next_ms(const struct audit_sink *s, uint64_t now_ms)
{
	int next = folds_next_ms(s->folds, now_ms), head;

	if (s->is_failed || s->is_head_failed)
		return next >= 0 && next < RETRY_MS ? next : RETRY_MS;
	if (s->out.len)
		return 0;
	if (s->head_seq == s->written_seq)
		return next;
	head = now_ms - s->head_ms >= HEAD_MS ? 0 : (int)(HEAD_MS - (now_ms - s->head_ms));
	return next >= 0 && next < head ? next : head;
}

static int flush(struct audit_sink *s, uint64_t now_ms, uint64_t folds_due_ms)
{
	folds_close(s->folds, folds_due_ms, on_folded, s);
	/* The second time for what the first one makes known: a gap, an end of failure. */
	for (int i = 0; i < 2; i++) {
		if (append(s) < 0)
			return -1;
		add_recovered(s);
	}
	if (append(s) < 0)
		return -1;
	if (s->rotate_bytes && s->file.size_bytes >= s->rotate_at)
		rotate(s, now_ms);
	return 0;
}

int audit_sink_flush(struct audit_sink *s)
{
	uint64_t now_ms = clock_monotonic_ms();

	if (flush(s, now_ms, now_ms) == 0 && is_head_due(s, now_ms))
		write_head(s, now_ms, false);
	return next_ms(s, now_ms);
}

bool audit_sink_is_failed(const struct audit_sink *s)
{
	return s->is_failed || s->is_head_failed;
}

uint64_t audit_sink_count(const struct audit_sink *s, enum nej_reason reason)
{
	return reason < NEJ_REASON_COUNT ? s->counts[reason] : 0;
}

const struct tally *audit_sink_tally(const struct audit_sink *s)
{
	return &s->tally;
}

void audit_sink_on_own(
	struct audit_sink *s, bool (*is_own)(void *arg, struct audit_event *event), void *arg)
{
	s->is_own = is_own;
	s->own_arg = arg;
}

static void on_ring_event(const struct audit_event *e, void *arg)
{
	struct audit_sink *s = arg;

	if (e->kind == AUDIT_NAME_GIVEN)
		names_learn(s->names, e);
	else
		audit_sink_add(s, e);
}

int audit_sink_drain(struct audit_sink *s, struct audit_ring *ring)
{
	int n = 0;

	for (int round = 0; round < 4; round++) {
		uint64_t malformed, lost;

		n += audit_ring_peek(ring, on_ring_event, s, &malformed);
		lost = audit_ring_lost(ring);
		if (malformed)
			add_own(s, AUDIT_EVENTS_LOST, NEJ_REASON_INTERNAL, malformed,
				"the worker's ring held what is no event", NULL);
		if (lost)
			add_own(s, AUDIT_EVENTS_LOST, NEJ_REASON_LIMIT, lost,
				"the worker's ring was full", NULL);
		append(s);
		audit_ring_release(ring);
		if (!audit_ring_has_more(ring))
			break;
	}
	return n;
}

static struct policy_known *policy_slot(struct audit_sink *s, uint32_t generation)
{
	struct policy_known *p = (struct policy_known *)find_policy(s, generation);

	for (size_t i = 0; !p && i < s->n_policies; i++)
		if (!s->policies[i].is_used)
			p = &s->policies[i];
	if (p)
		return p;
	assert(s->n_policies); /* four, if the caller does not say */
	return &s->policies[s->next_policy++ % s->n_policies];
}

static void forget_rules(struct audit_sink *s, uint32_t generation)
{
	for (size_t i = 0; i < N_RULES; i++)
		if (s->rules[i].generation == generation)
			s->rules[i].is_known = false;
}

void audit_sink_set_policy(struct audit_sink *s, uint32_t generation, const char *sha256_hex,
	audit_rule_lookup *lookup, void *arg)
{
	struct policy_known *p = policy_slot(s, generation);

	*p = (struct policy_known){
		.generation = generation, .is_used = true, .lookup = lookup, .arg = arg};
	if (sha256_hex)
		snprintf(p->json, sizeof(p->json), "\"sha256:%.64s\"", sha256_hex);
	else
		snprintf(p->json, sizeof(p->json), "null");
	forget_rules(s, generation);
}

void audit_sink_set_sandbox(struct audit_sink *s, uint32_t generation, const char *sandbox,
	const char *sha256_hex, audit_rule_lookup *lookup, void *arg)
{
	struct policy_known *p;
	struct buf name;

	audit_sink_set_policy(s, generation, sha256_hex, lookup, arg);
	p = (struct policy_known *)find_policy(s, generation);
	buf_init(&name);
	buf_add_json(&name, sandbox, strlen(sandbox), 64);
	snprintf(p->sandbox, sizeof(p->sandbox), "%s", name.data ? name.data : "null");
	buf_done(&name);
}

void audit_sink_forget(struct audit_sink *s, uint32_t generation)
{
	struct policy_known *p = (struct policy_known *)find_policy(s, generation);

	if (p)
		p->is_used = false;
	forget_rules(s, generation);
}

/* A log that cannot be written to now is open all the same, and is_failed: what its owner lets pass
 * then is the policy's matter. */
static int begin(struct audit_sink *s)
{
	struct recovery rec;
	char more[96];
	int r = recover(&s->file, s->key, &rec);

	if (r < 0)
		return r;
	chain_set(&s->chain, rec.seq, rec.hash);
	s->first = rec.first;
	s->written_seq = rec.seq;
	if (rec.detail[0]) {
		snprintf(more, sizeof(more), "\"missing\":%llu,\"torn_bytes\":%llu",
			(unsigned long long)rec.missing, (unsigned long long)rec.torn_bytes);
		log_warning("%s: %s", s->file.path, rec.detail);
		add_own(s, rec.is_gap ? AUDIT_AUDIT_GAP : AUDIT_ADOPTED, NEJ_REASON_NONE, 1,
			rec.detail, more);
		append(s);
	}
	write_head(s, clock_monotonic_ms(), false);
	return 0;
}

int audit_sink_open(const struct audit_sink_options *o, struct audit_sink **ret)
{
	_cleanup_(audit_sink_close_ptr)
	struct audit_sink *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->file.fd = s->file.lock_fd = -1;
	s->rotate_bytes = s->rotate_at = o->rotate_bytes;
	s->rotate_keep = o->rotate_keep;
	s->n_policies = o->n_policies ? o->n_policies : N_POLICIES;
	s->policies = calloc(s->n_policies, sizeof(*s->policies));
	if (!s->policies)
		return -ENOMEM;
	add_capped(&s->sandbox, o->sandbox);
	add_capped(&s->subject, o->sandbox);
	if (o->container && *o->container)
		buf_printf(&s->subject, ",\"container\":\"%.64s\"", o->container);
	r = s->sandbox.is_failed || s->subject.is_failed ? -ENOMEM : chain_init(&s->chain);
	if (r == 0)
		r = folds_new(&s->folds);
	if (r >= 0)
		r = (s->names = names_new()) ? 0 : -ENOMEM;
	if (r == 0 && o->key_path)
		r = chain_key_load(o->key_path, &s->key);
	if (r == 0)
		r = logfile_open(&s->file, o->path);
	if (r == 0)
		r = begin(s);
	if (r < 0)
		return r;
	s->is_open = true;
	*ret = TAKE_PTR(s);
	return 0;
}

void audit_sink_close(struct audit_sink *s)
{
	if (!s)
		return;
	if (s->is_open) {
		uint64_t now_ms = clock_monotonic_ms();

		if (flush(s, now_ms, UINT64_MAX) == 0) {
			if (fdatasync(s->file.fd) < 0)
				log_error("the audit log %s cannot be synced: %s", s->file.path,
					strerror(errno));
			write_head(s, now_ms, true);
		}
	}
	logfile_close(&s->file);
	folds_free(s->folds);
	names_free(s->names);
	chain_key_free(s->key);
	chain_done(&s->chain);
	buf_done(&s->sandbox);
	buf_done(&s->subject);
	buf_done(&s->out);
	free(s->policies);
	for (size_t i = 0; i < N_RULES; i++) {
		buf_done(&s->rules[i].json);
		buf_done(&s->rules[i].note);
	}
	free(s);
}
