/* SPDX-License-Identifier: GPL-2.0-only */
/* One family after the other, each over all sandboxes, as the format wants it; see metrics.h. */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"

struct page {
	const json_t *all;
	struct buf *out;
};

static const json_t *get(const json_t *j, const char *outer, const char *inner)
{
	const json_t *found = json_object_get(j, outer);

	return inner ? json_object_get(found, inner) : found;
}

/* --- the format */

static void begin(const struct page *p, const char *name, const char *type, const char *help)
{
	buf_printf(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_label(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "%s=\"", key);
	for (const char *c = value ? value : ""; *c; c++) {
		if (*c == '\\' || *c == '"')
			buf_add_char(out, '\\');
		if (*c == '\n')
			buf_add_str(out, "\\n");
		else
			buf_add_char(out, *c);
	}
	buf_add_char(out, '"');
}

/* `name{sandbox="…"`, to which labels may follow */
static void begin_sample(const struct page *p, const char *name, const json_t *sandbox)
{
	buf_add_str(p->out, name);
	buf_add_char(p->out, '{');
	add_label(p->out, "sandbox", json_string_value(json_object_get(sandbox, "name")));
}

static void more_label(const struct page *p, const char *key, const char *value)
{
	buf_add_char(p->out, ',');
	add_label(p->out, key, value);
}

static void end_sample(const struct page *p, json_int_t value)
{
	buf_printf(p->out, "} %lld\n", (long long)value);
}

/* --- numbers that stand alone */

static const struct {
	const char *name, *type, *help;
	const char *outer, *inner; /* where the number is; a truth is 1, a list how long it is */
} singles[] = {
	{"nej_up", "gauge", "Whether the sandbox's supervisor is alive", "live", NULL},
	{"nej_connections_open", "gauge", "Connections the proxy holds open", "open_connections",
		NULL},
	{"nej_connections_total", "counter", "Connections the proxy accepted", "meter",
		"connections"},
	{"nej_dns_denied_total", "counter", "Questions for names that no rule allows", "totals",
		"dns_denied"},
	{"nej_tls_attempts_total", "counter", "Verdicts on what came in TLS", "totals", "tls"},
	{"nej_events_lost_total", "counter", "Attempts that have no record in the audit log",
		"totals", "unrecorded"},
	{"nej_kernel_events_lost_total", "counter",
		"Refusals the kernel's ring had no room for (their number is in the log)",
		"counters", "events_lost"},
	{"nej_kernel_redirected_total", "counter", "Calls the kernel sent to the proxy or the stub",
		"counters", "redirected"},
	{"nej_kernel_passed_total", "counter", "Calls the kernel let straight out by a rule",
		"counters", "passed"},
	{"nej_kernel_dropped_packets_total", "counter", "Packets dropped", "counters",
		"dropped_packets"},
	{"nej_worker_restarts_total", "counter", "Workers that ended and were replaced",
		"worker_restarts", NULL},
	{"nej_policy_generation", "gauge", "Policies put in force since the start", "generation",
		NULL},
	{"nej_grants", "gauge", "Grants in force beside the policy", "grants", NULL},
	{"nej_audit_failed", "gauge", "Whether the audit log cannot be written", "audit_failed",
		NULL},
	{"nej_canary_ok", "gauge", "Whether the newest probe from inside was refused everywhere",
		"canary", "ok"},
};

static json_int_t number_of(const json_t *value)
{
	return json_is_integer(value)  ? json_integer_value(value)
		: json_is_array(value) ? (json_int_t)json_array_size(value)
				       : json_is_true(value);
}

static void print_single(const struct page *p, size_t row)
{
	bool has_begun = false;

	for (size_t i = 0; i < json_array_size(p->all); i++) {
		const json_t *sandbox = json_array_get(p->all, i);
		const json_t *value = get(sandbox, singles[row].outer, singles[row].inner);

		if (!json_is_integer(value) && !json_is_boolean(value) && !json_is_array(value))
			continue;
		if (!has_begun)
			begin(p, singles[row].name, singles[row].type, singles[row].help);
		has_begun = true;
		begin_sample(p, singles[row].name, sandbox);
		end_sample(p, number_of(value));
	}
}

/* --- families with labels of their own, one sandbox at a time */

static void print_state(const struct page *p, const json_t *sandbox)
{
	static const char *const words[] = {"enforcing", "halted", "broken"};
	const char *now = json_string_value(json_object_get(sandbox, "state"));

	for (size_t i = 0; now && i < ARRAY_SIZE(words); i++) {
		begin_sample(p, "nej_state", sandbox);
		more_label(p, "state", words[i]);
		end_sample(p, strcmp(now, words[i]) == 0);
	}
}

static void print_policy(const struct page *p, const json_t *sandbox)
{
	begin_sample(p, "nej_policy_info", sandbox);
	more_label(p, "sha256", json_string_value(json_object_get(sandbox, "policy_sha256")));
	end_sample(p, 1);
}

static void print_verdicts(const struct page *p, const json_t *sandbox)
{
	static const char *const labels[] = {"layer", "reason", "verdict"};
	const json_t *rows = get(sandbox, "totals", "verdicts");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		begin_sample(p, "nej_verdicts_total", sandbox);
		for (size_t k = 0; k < ARRAY_SIZE(labels); k++)
			more_label(
				p, labels[k], json_string_value(json_object_get(row, labels[k])));
		end_sample(p, json_integer_value(json_object_get(row, "count")));
	}
}

static void print_bytes(const struct page *p, const json_t *sandbox)
{
	static const char *const keys[] = {"relayed_out", "relayed_in"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = get(sandbox, "meter", keys[i]);

		if (!value)
			continue;
		begin_sample(p, "nej_bytes_total", sandbox);
		more_label(p, "direction", keys[i] + strlen("relayed_"));
		end_sample(p, json_integer_value(value));
	}
}

static void print_le(const struct page *p, const json_t *bound)
{
	json_int_t us = json_integer_value(bound);

	if (json_is_null(bound)) {
		more_label(p, "le", "+Inf");
		return;
	}
	buf_printf(p->out, ",le=\"%lld.%06lld\"", (long long)(us / 1000000),
		(long long)(us % 1000000));
}

/* Of one histogram: what is measured, and the labels that tell it from others of its family. */
struct labels {
	const char *family;
	const char *keys[2], *values[2]; /* NULL: no second one */
};

static void begin_row(
	const struct page *p, const struct labels *l, const char *suffix, const json_t *sandbox)
{
	char name[80];

	snprintf(name, sizeof(name), "%s%s", l->family, suffix);
	begin_sample(p, name, sandbox);
	for (size_t i = 0; i < ARRAY_SIZE(l->keys) && l->keys[i]; i++)
		more_label(p, l->keys[i], l->values[i]);
}

/* Buckets are cumulative there; the last one and the count are the same number. */
static void print_histogram(const struct page *p, const json_t *sandbox, const struct labels *l,
	const json_t *histogram)
{
	const json_t *rows = json_object_get(histogram, "buckets");
	json_int_t us = json_integer_value(json_object_get(histogram, "sum_us")), n = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		n += json_integer_value(json_object_get(row, "count"));
		begin_row(p, l, "_bucket", sandbox);
		print_le(p, json_object_get(row, "le_us"));
		end_sample(p, n);
	}
	begin_row(p, l, "_sum", sandbox);
	buf_printf(p->out, "} %lld.%06lld\n", (long long)(us / 1000000), (long long)(us % 1000000));
	begin_row(p, l, "_count", sandbox);
	end_sample(p, n);
}

/* One for each key of an object; the key is the last label. */
static void print_histograms(
	const struct page *p, const json_t *sandbox, const struct labels *given, json_t *all)
{
	struct labels l = *given;
	size_t last = l.keys[1] ? 1 : 0;

	for (void *it = json_object_iter(all); it; it = json_object_iter_next(all, it)) {
		l.values[last] = json_object_iter_key(it);
		print_histogram(p, sandbox, &l, json_object_iter_value(it));
	}
}

#define DURATION "nej_attempt_duration_seconds"
#define CONNECT "nej_connect_duration_seconds"
#define ANSWER "nej_dns_answer_duration_seconds"
#define HANDSHAKE "nej_tls_handshake_duration_seconds"

static void print_durations(const struct page *p, const json_t *sandbox)
{
	const struct labels l = {DURATION, {"verdict"}, {NULL}};

	print_histograms(p, sandbox, &l, (json_t *)get(sandbox, "totals", "durations"));
}

static void print_connects(const struct page *p, const json_t *sandbox)
{
	const struct labels l = {CONNECT, {"outcome"}, {NULL}};

	print_histograms(p, sandbox, &l, (json_t *)get(sandbox, "meter", "connect"));
}

static void print_answers(const struct page *p, const json_t *sandbox)
{
	const struct labels l = {ANSWER, {"rcode"}, {NULL}};

	print_histograms(p, sandbox, &l, (json_t *)get(sandbox, "meter", "dns"));
}

static void print_handshakes(const struct page *p, const json_t *sandbox)
{
	const struct labels client = {HANDSHAKE, {"side", "outcome"}, {"client", NULL}};
	const struct labels origin = {HANDSHAKE, {"side", "outcome"}, {"origin", NULL}};

	print_histograms(p, sandbox, &client, (json_t *)get(sandbox, "meter", "tls_client"));
	print_histograms(p, sandbox, &origin, (json_t *)get(sandbox, "meter", "tls_origin"));
}

static void print_refused(const struct page *p, const json_t *sandbox)
{
	json_t *all = (json_t *)get(sandbox, "counters", "refused");

	for (void *it = json_object_iter(all); it; it = json_object_iter_next(all, it)) {
		begin_sample(p, "nej_kernel_refused_total", sandbox);
		more_label(p, "reason", json_object_iter_key(it));
		end_sample(p, json_integer_value(json_object_iter_value(it)));
	}
}

static const struct {
	const char *name, *type, *help;
	void (*print)(const struct page *p, const json_t *sandbox);
} families[] = {
	{"nej_state", "gauge", "1 for the state the sandbox is in", print_state},
	{"nej_policy_info", "gauge", "1, with the hash of the policy in force", print_policy},
	{"nej_verdicts_total", "counter", "Attempts by layer, reason and verdict", print_verdicts},
	{"nej_bytes_total", "counter",
		"Bytes the proxy relayed, out to destinations and in from them, of open "
		"connections "
		"too",
		print_bytes},
	{DURATION, "histogram",
		"Time until an attempt was refused or had failed; of an allowed one, until its end",
		print_durations},
	{CONNECT, "histogram",
		"Time from the beginning of an attempt until its destination was connected, or was "
		"known not to be",
		print_connects},
	{ANSWER, "histogram", "Time from a question to its answer", print_answers},
	{HANDSHAKE, "histogram",
		"Time of TLS handshakes with clients and with origins, where TLS is looked into",
		print_handshakes},
	{"nej_kernel_refused_total", "counter", "Calls and packets the kernel refused",
		print_refused},
};

/* A family of which there is no sample is not told of. */
static void print_family(const struct page *p, size_t row)
{
	size_t start = p->out->len, first;

	begin(p, families[row].name, families[row].type, families[row].help);
	first = p->out->len;
	for (size_t i = 0; i < json_array_size(p->all); i++)
		families[row].print(p, json_array_get(p->all, i));
	if (p->out->len == first)
		p->out->len = start;
}

void metrics_print(const json_t *all, struct buf *out)
{
	const struct page p = {all, out};

	for (size_t i = 0; i < ARRAY_SIZE(singles); i++)
		print_single(&p, i);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		print_family(&p, i);
}
