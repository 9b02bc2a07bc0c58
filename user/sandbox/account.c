/* SPDX-License-Identifier: GPL-2.0-only */
/* Status as JSON; see account.h. Nothing a worker says is more than a number here. */
#include "account.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/meter.h"

#define COUNT_LIMIT_MS 500

static const char *state_of(const struct sandbox *sb)
{
	if (sb->is_broken)
		return "broken";
	if (sb->is_halted)
		return "halted";
	/* nothing passes, but not because anybody wants it so */
	if (sb->is_audit_failed || sb->worker.pid <= 0)
		return "broken";
	return "enforcing";
}

/* --- the numbers */

/* What never happened is left out. */
static json_t *verdicts_of(const struct tally *t)
{
	json_t *all = json_array();

	for (int v = 0; v < TALLY_VERDICT_COUNT; v++)
		for (int l = 0; l < AUDIT_LAYER_COUNT; l++)
			for (int r = 0; r < NEJ_REASON_COUNT; r++)
				if (t->verdicts[v][l][r])
					json_array_append_new(all,
						json_pack("{s:s, s:s, s:s, s:I}", "verdict",
							tally_verdict_word((enum tally_verdict)v),
							"layer",
							audit_layer_word((enum audit_layer)l),
							"reason", reason_word((enum nej_reason)r),
							"count", (json_int_t)t->verdicts[v][l][r]));
	return all;
}

/* How many took up to `le_us` and longer than the row before; the last row has no bound. */
static json_t *durations_of(const struct histogram *d)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		json_array_append_new(rows,
			json_pack("{s:o, s:I}", "le_us",
				i < HISTOGRAM_N_BOUNDS
					? json_integer((json_int_t)histogram_bounds_us[i])
					: json_null(),
				"count", (json_int_t)d->counts[i]));
	return json_pack("{s:I, s:o}", "sum_us", (json_int_t)d->sum_us, "buckets", rows);
}

static uint64_t count_dns(const struct tally *t)
{
	uint64_t n = 0;

	for (int r = 0; r < NEJ_REASON_COUNT; r++)
		n += t->verdicts[TALLY_BLOCKED][AUDIT_LAYER_DNS][r];
	return n;
}

static json_t *numbers_of(const struct tally *t)
{
	json_t *durations = json_object();

	for (int v = 0; v < TALLY_VERDICT_COUNT; v++)
		json_object_set_new(durations, tally_verdict_word((enum tally_verdict)v),
			durations_of(&t->durations[v]));
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "verdicts", verdicts_of(t),
		"bytes_out", (json_int_t)t->bytes_out, "bytes_in", (json_int_t)t->bytes_in,
		"dns_denied", (json_int_t)count_dns(t), "tls", (json_int_t)t->tls, "unrecorded",
		(json_int_t)t->lost, "durations", durations);
}

/* What the worker's threads have counted, all together; it goes on with the next worker. */
static json_t *meter_of(const struct meter *meters)
{
	static const char *const words[] = {
#define X(id, word) word,
		METER_NUMBERS(X)
#undef X
	};
	static const struct {
		const char *what, *outcome;
	} rows[] = {
#define X(id, what, outcome) {what, outcome},
		METER_LATENCIES(X)
#undef X
	};
	json_t *all = json_object();
	struct meter sum = {0};

	for (size_t i = 0; meters && i < HANDOFF_MAX_THREADS; i++)
		meter_join(&sum, &meters[i]);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		json_object_set_new(all, words[i], json_integer((json_int_t)sum.numbers[i]));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!json_object_get(all, rows[i].what))
			json_object_set_new(all, rows[i].what, json_object());
		json_object_set_new(json_object_get(all, rows[i].what), rows[i].outcome,
			durations_of(&sum.latencies[i]));
	}
	return all;
}

static json_t *status_of(const struct account *a, int n_open)
{
	const struct sandbox *sb = a->sb;

	return json_pack("{s:b, s:s, s:s, s:s, s:s, s:I, s:o, s:I, s:b, s:o, s:o, s:o, s:o}", "ok",
		1, "name", sb->name, "state", state_of(sb), "policy", sb->policy_path,
		"policy_sha256", policy_sha256(sb->policy), "generation",
		(json_int_t)sb->generation, "grants", grants_print(&sb->grants), "worker_restarts",
		(json_int_t)a->n_restarts, "audit_failed", sb->is_audit_failed, "open_connections",
		n_open < 0 ? json_null() : json_integer(n_open), "totals",
		numbers_of(audit_sink_tally(sb->sink)), "canary", canary_print(a->canary), "meter",
		meter_of(sb->meters));
}

/* --- waiting for the worker */

void account_on_counted(struct account *a, int n_open)
{
	uint32_t ids[CONTROL_MAX_CLIENTS];
	size_t n = a->n_ids;

	loop_timer_del(a->loop, &a->limit);
	memcpy(ids, a->ids, n * sizeof(ids[0]));
	a->n_ids = 0; /* a client that is answered may ask again at once */
	for (size_t i = 0; i < n; i++)
		control_reply(a->control, ids[i], status_of(a, n_open));
}

static void on_limit(struct loop_timer *timer)
{
	account_on_counted(CONTAINER_OF(timer, struct account, limit), -1);
}

/* A worker that does not read may not hold us up. */
static int ask_worker(const struct companion *worker)
{
	struct pollfd p = {.fd = worker->control, .events = POLLOUT};

	if (worker->control < 0 || poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
		return -EAGAIN;
	return init_send(worker->control, INIT_COUNT, 0, NULL, -1);
}

void account_ask(struct account *a, uint32_t id)
{
	if (a->n_ids == ARRAY_SIZE(a->ids) || (!a->n_ids && ask_worker(&a->sb->worker) < 0)) {
		control_reply(a->control, id, status_of(a, -1));
		return;
	}
	a->ids[a->n_ids++] = id;
	if (a->n_ids == 1)
		loop_timer_set(a->loop, &a->limit, COUNT_LIMIT_MS);
}

void account_init(struct account *a, struct loop *loop, const struct sandbox *sb,
	struct control *control, const struct canary *canary)
{
	*a = (struct account){.loop = loop,
		.sb = sb,
		.control = control,
		.canary = canary,
		.limit.on_timeout = on_limit};
}

void account_done(struct account *a)
{
	loop_timer_del(a->loop, &a->limit);
}
