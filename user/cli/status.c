/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the state files and the pinned counters of all sandboxes; plain and JSON of one truth. */
#include "status.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../audit/event.h"
#include "../kernel/object.h"
#include "../sandbox/control.h"
#include "../sandbox/options.h"
#include "../sandbox/state.h"
#include "exporter.h"
#include "grant.h"
#include "metrics.h"

#define ANSWER_MS 2000
#define CONNECT_MS 100 /* who does not accept as fast hangs */
#define CANARY_MS 15000

enum option_key {
	KEY_JSON = 256,
	KEY_METRICS,
	KEY_CANARY,
	KEY_LISTEN,
};

static const struct argp_option options[] = {
	{"json", KEY_JSON, NULL, 0, "Print one JSON array", 0},
	{"canary", KEY_CANARY, NULL, 0, "First let NAME's canary try again", 0},
	{"metrics", KEY_METRICS, NULL, 0, "Print numbers as Prometheus reads them", 0},
	{"metrics-listen", KEY_LISTEN, "IP[:PORT]", 0,
		"Serve them there, at /metrics (port 9469), until SIGTERM", 0},
	{0},
};

struct status {
	const char *name; /* NULL: all */
	bool is_json, is_metrics, is_canary, is_served;
	struct endpoint at; /* is_served */
	json_t *all;
	int *asked; /* those of `all` that live: their answers come there, or -1 */
	size_t n_asked;
	int err;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct status *s = state->input;

	switch (key) {
	case KEY_JSON:
		s->is_json = true;
		return 0;
	case KEY_CANARY:
		s->is_canary = true;
		return 0;
	case KEY_METRICS:
		s->is_metrics = true;
		return 0;
	case KEY_LISTEN:
		s->is_served = true;
		if (endpoint_parse(arg, EXPORTER_DEFAULT_PORT, &s->at) < 0)
			argp_error(state, "--metrics-listen: `%s` is no IP[:PORT]", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (s->name)
			argp_error(state, "one sandbox, or none for all");
		s->name = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- one sandbox as JSON, which plain text is printed from as well */

static json_t *counters_of(const char *name)
{
	uint64_t counts[NEJ_COUNTER_COUNT];
	json_t *refused = json_object(), *all;

	if (object_counters_pinned(name, counts) < 0) {
		json_decref(refused);
		return json_null();
	}
	for (int i = NEJ_REASON_NONE + 1; i < NEJ_REASON_COUNT; i++)
		if (counts[i])
			json_object_set_new(refused, reason_word((enum nej_reason)i),
				json_integer((json_int_t)counts[i]));
	all = json_pack("{s:I, s:I, s:I, s:I, s:I}", "redirected",
		(json_int_t)counts[NEJ_COUNTER_REDIRECTED], "passed",
		(json_int_t)counts[NEJ_COUNTER_PASSED], "probes",
		(json_int_t)counts[NEJ_COUNTER_PROBES], "dropped_packets",
		(json_int_t)counts[NEJ_COUNTER_DROPPED_PACKETS], "events_lost",
		(json_int_t)counts[NEJ_COUNTER_EVENTS_LOST]);
	json_object_set_new(all, "refused", refused);
	return all;
}

/* A halted sandbox lets none try; its status says the rest. */
static void let_canary_try(const char *name)
{
	json_t *request = json_pack("{s:s}", "command", "canary"), *answer = NULL;
	int r = control_ask(name, request, CANARY_MS, &answer);

	if (r < 0)
		log_error("the canary of %s does not answer: %s", name, strerror(-r));
	json_decref(request);
	json_decref(answer);
}

/* What only supervisors know: their states, what went through them. All are asked before any is waited
 * for, so that those that hang cost no more than one. */
static void ask_live(struct status *s, const char *name)
{
	json_t *request = json_pack("{s:s}", "command", "status");
	int *more = reallocarray(s->asked, s->n_asked + 1, sizeof(*more));

	s->asked = more ? more : s->asked;
	if (more && control_begin(name, request, CONNECT_MS, &s->asked[s->n_asked]) < 0)
		s->asked[s->n_asked] = -1;
	s->n_asked += more != NULL;
	json_decref(request);
}

/* What the canary tries is no attempt of the sandbox. */
static void take_out_canary(json_t *j)
{
	json_t *refused = json_object_get(json_object_get(j, "counters"), "refused");
	json_t *own = json_object_get(json_object_get(j, "canary"), "refused"), *value;
	const char *reason;

	json_object_foreach(own, reason, value)
	{
		json_t *all = json_object_get(refused, reason);
		json_int_t rest = json_integer_value(all) - json_integer_value(value);

		if (rest > 0)
			json_integer_set(all, rest);
		else
			json_object_del(refused, reason);
	}
}

static void add_live(json_t *j, int fd, int timeout_ms)
{
	static const char *const keys[] = {"state", "grants", "worker_restarts", "audit_failed",
		"open_connections", "totals", "canary", "meter"};
	json_t *answer = NULL;
	int r = control_end(fd, timeout_ms, &answer);

	for (size_t i = 0; r == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(answer, keys[i]);

		if (value)
			json_object_set(j, keys[i], value);
	}
	json_decref(answer);
	take_out_canary(j);
}

static void add_all_live(struct status *s)
{
	uint64_t end = clock_monotonic_ms() + ANSWER_MS, now;
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(s->all) && n < s->n_asked; i++) {
		json_t *j = json_array_get(s->all, i);
		int fd;

		if (!json_is_true(json_object_get(j, "live")))
			continue;
		json_object_set_new(j, "state", json_string("starting"));
		fd = s->asked[n++];
		now = clock_monotonic_ms();
		if (fd >= 0)
			add_live(j, fd, now < end ? (int)(end - now) : 0);
	}
	free(s->asked);
	s->asked = NULL;
	s->n_asked = 0;
}

static json_t *describe(const char *name, const struct state *s)
{
	char started[CLOCK_TEXT_BYTES] = "";
	json_t *j;

	if (s->started_us)
		clock_print(s->started_us, started);
	j = json_pack("{s:s, s:b, s:i, s:s, s:s, s:I, s:s, s:s, s:s, s:i, s:s, s:s, s:i}", "name",
		name, "live", (int)s->is_live, "pid", (int)s->pid, "started", started, "user",
		s->user, "uid", (json_int_t)s->uid, "net", s->is_host_net ? "host" : "none",
		"policy", s->policy, "policy_sha256", s->policy_sha256, "generation",
		(int)s->generation, "audit", s->audit, "cgroup", s->cgroup, "proxy_port",
		(int)s->proxy_port);
	if (j)
		json_object_set_new(j, "counters", counters_of(name));
	if (j)
		json_object_set_new(j, "attached", json_boolean(s->is_attached));
	if (j && s->container[0])
		json_object_set_new(j, "container", json_string(s->container));
	return j;
}

static void add(void *arg, const char *name)
{
	struct status *status = arg;
	static struct state s;
	int r;

	if (status->name && strcmp(status->name, name) != 0)
		return;
	r = state_read(name, &s);
	if (r < 0) {
		status->err = r;
		return;
	}
	if (status->is_canary && s.is_live)
		let_canary_try(name);
	/* a folder with nothing but a lock is left by a start that failed */
	if (!s.is_live && !s.pid && !object_is_pinned(name))
		return;
	if (json_array_append_new(status->all, describe(name, &s)) == 0 && s.is_live)
		ask_live(status, name);
}

/* --- plain */

static const char *text(const json_t *j, const char *key)
{
	const char *value = json_string_value(json_object_get(j, key));

	return value && *value ? value : "-";
}

/* Its numbers, one a line; objects in it are left out. */
static void print_numbers(json_t *object, const char *prefix)
{
	for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it))
		if (json_is_integer(json_object_iter_value(it)))
			printf("  %s%s: %lld\n", prefix, json_object_iter_key(it),
				(long long)json_integer_value(json_object_iter_value(it)));
}

/* Attempts, as the log has them. */
static void print_verdicts(const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		printf("  %s by %s, %s: %lld\n", text(row, "verdict"), text(row, "layer"),
			text(row, "reason"),
			(long long)json_integer_value(json_object_get(row, "count")));
	}
}

/* What is in force beside the policy of that hash. */
static void print_grants(const json_t *grants)
{
	for (size_t i = 0; i < json_array_size(grants); i++) {
		printf("  ");
		grant_print(json_array_get(grants, i), stdout);
	}
}

static void print_plain(const json_t *j, bool is_long)
{
	bool is_live = json_is_true(json_object_get(j, "live"));

	printf("%-20s %-9s %8lld  %-12s %s\n", text(j, "name"),
		is_live ? text(j, "state") : "left over",
		(long long)json_integer_value(json_object_get(j, "pid")), text(j, "user"),
		text(j, "policy"));
	if (!is_live)
		printf("  its supervisor died; what is left denies everything until `nej %s -n %s` "
		       "takes it over\n",
			json_is_true(json_object_get(j, "attached")) ? "attach" : "run",
			text(j, "name"));
	if (!is_long)
		return;
	printf("  started: %s\n  policy: %s (sha256 %s, generation %lld)\n  audit: %s\n  cgroup: "
	       "%s\n",
		text(j, "started"), text(j, "policy"), text(j, "policy_sha256"),
		(long long)json_integer_value(json_object_get(j, "generation")), text(j, "audit"),
		text(j, "cgroup"));
	print_grants(json_object_get(j, "grants"));
	print_numbers(json_object_get(json_object_get(j, "counters"), "refused"), "refused ");
	print_numbers(json_object_get(j, "counters"), "");
	if (json_is_integer(json_object_get(j, "open_connections")))
		printf("  open_connections: %lld\n",
			(long long)json_integer_value(json_object_get(j, "open_connections")));
	printf("  worker_restarts: %lld\n",
		(long long)json_integer_value(json_object_get(j, "worker_restarts")));
	printf("  canary: %s\n", text(json_object_get(j, "canary"), "result"));
	print_verdicts(json_object_get(json_object_get(j, "totals"), "verdicts"));
	print_numbers(json_object_get(j, "totals"), "");
	print_numbers(json_object_get(j, "meter"), "");
}

static void print_metrics(const json_t *all)
{
	struct buf out;

	buf_init(&out);
	metrics_print(all, &out);
	fwrite(out.data, 1, out.len, stdout);
	buf_done(&out);
}

/* What runs now; one that began or ended meanwhile is as it is. */
static void fill_page(void *arg, struct buf *page)
{
	struct status *s = arg;

	s->all = json_array();
	state_each(add, s);
	add_all_live(s);
	metrics_print(s->all, page);
	json_decref(s->all);
	s->all = NULL;
}

static int serve(struct status *s)
{
	char where[ENDPOINT_TEXT_BYTES];
	int r;

	endpoint_print(&s->at, where);
	if (geteuid() != 0) {
		log_error("only root may ask sandboxes for their numbers: run it with sudo");
		return SANDBOX_EXIT_USAGE;
	}
	if (addr_classify(&s->at.addr, NULL) != NEJ_RANGE_LOOPBACK)
		log_notice("whoever reaches %s reads the sandboxes' names and numbers", where);
	r = exporter_run(&s->at, fill_page, s);
	if (r >= 0)
		return 0;
	log_error("cannot listen on %s: %s", where, strerror(-r));
	return 1;
}

static void print_all(const struct status *s)
{
	if (s->is_metrics) {
		print_metrics(s->all);
		return;
	}
	if (s->is_json) {
		json_dumpf(s->all, stdout, JSON_INDENT(1));
		putchar('\n');
		return;
	}
	if (!json_array_size(s->all))
		printf("no sandbox\n");
	else
		printf("%-20s %-9s %8s  %-12s %s\n", "NAME", "STATE", "PID", "USER", "POLICY");
	for (size_t i = 0; i < json_array_size(s->all); i++)
		print_plain(json_array_get(s->all, i), s->name != NULL);
}

int cli_status(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse,
		.args_doc = "[NAME]",
		.doc = "Lists the sandboxes that run, and what dead supervisors left."};
	struct status s = {0};
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &s) != 0)
		return SANDBOX_EXIT_USAGE;
	if (s.is_served)
		return serve(&s);
	s.all = json_array();
	r = state_each(add, &s);
	if (r >= 0)
		r = s.err;
	if (r < 0) {
		log_error("cannot read " STATE_ROOT ": %s%s", strerror(-r),
			r == -EACCES ? " (run it with sudo)" : "");
		json_decref(s.all);
		return SANDBOX_EXIT_USAGE;
	}
	add_all_live(&s);
	if (s.name && !json_array_size(s.all)) {
		log_error("there is no sandbox named %s", s.name);
		r = 1;
	} else {
		print_all(&s);
	}
	json_decref(s.all);
	return r;
}
