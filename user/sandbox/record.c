/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes the supervisor's records; see record.h. Those of attempts come from events.c and ring.c. */
#include "record.h"

#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "../base/buf.h"
#include "../base/clock.h"

static struct audit_event event_of(const struct sandbox *sb, enum audit_kind kind)
{
	return (struct audit_event){
		.kind = (uint8_t)kind,
		.layer = AUDIT_LAYER_SUPERVISOR,
		.rule = AUDIT_NO_RULE,
		.generation = sb->generation,
		.cgroup_id = sb->cgroup.id,
		.uid = sb->id.uid,
		.count = 1,
		.time_us = clock_real_us(),
	};
}

static struct audit_text text_of(const char *s)
{
	return (struct audit_text){s, (uint32_t)strlen(s)};
}

static void add_key(struct buf *b, const char *key)
{
	if (b->len && b->data[b->len - 1] != '{')
		buf_add_char(b, ',');
	buf_printf(b, "\"%s\":", key);
}

static void add_text(struct buf *b, const char *key, const char *value)
{
	add_key(b, key);
	buf_add_json(b, value, strlen(value), 4096);
}

static void add_number(struct buf *b, const char *key, uint64_t value)
{
	add_key(b, key);
	buf_add_u64(b, value);
}

static void add_bool(struct buf *b, const char *key, bool value)
{
	add_key(b, key);
	buf_add_str(b, value ? "true" : "false");
}

static void add_with(const struct sandbox *sb, const struct audit_event *event, struct buf *extra)
{
	audit_sink_add_extra(sb->sink, event, extra->is_failed ? NULL : extra->data);
	buf_done(extra);
}

static void add_target(struct buf *b, const struct sandbox *sb)
{
	if (sb->target_pid)
		add_number(b, "target_pid", (uint64_t)sb->target_pid);
	if (sb->settings.flags & NEJ_F_SCOPE_UID)
		add_number(b, "only_uid", sb->settings.scope_uid);
}

static void add_limits(struct buf *b, const struct sandbox *sb)
{
	char text[LIMIT_TEXT_BYTES];

	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (!sb->options->limits[i])
			continue;
		limit_print((enum limit)i, sb->options->limits[i], text);
		add_text(b, limit_word((enum limit)i), text);
	}
}

static void add_resources(struct buf *b, const struct sandbox *sb)
{
	if (sb->resources.n_oom_kills)
		add_number(b, "oom_kills", sb->resources.n_oom_kills);
	if (sb->resources.n_pids_refused)
		add_number(b, "pids_refused", sb->resources.n_pids_refused);
}

void record_started(const struct sandbox *sb)
{
	struct audit_event event = event_of(sb, AUDIT_SANDBOX_STARTED);
	struct utsname machine;
	struct buf b;

	uname(&machine);
	buf_init(&b);
	add_text(&b, "version", NEJ_VERSION);
	add_text(&b, "kernel", machine.release);
	add_text(&b, "cgroup_path", sb->cgroup.path);
	add_text(&b, "user", sb->id.name);
	add_text(&b, "net", sb->is_shared_net ? "host" : "none");
	add_bool(&b, "attached", sb->is_attached);
	add_bool(&b, "ipv6", sb->listeners.has & 1u << HANDOFF_PROXY6);
	add_bool(&b, "connect_unix", sb->settings.flags & NEJ_F_UNIX_PRIVATE);
	add_bool(&b, "families_recorded", sb->refused_fd >= 0);
	if (sb->is_attached)
		add_target(&b, sb);
	else
		add_text(&b, "command", sb->options->argv[0]);
	if (sb->workspace.n_writable)
		add_text(&b, "workspace", sb->workspace.writable[0]);
	add_limits(&b, sb);
	add_with(sb, &event, &b);

	record_policy(sb);
}

void record_policy(const struct sandbox *sb)
{
	struct audit_event event = event_of(sb, AUDIT_POLICY_LOADED);
	struct buf b;

	buf_init(&b);
	add_text(&b, "path", sb->policy_path);
	add_text(&b, "sha256", policy_sha256(sb->policy));
	add_number(&b, "generation", sb->generation);
	add_with(sb, &event, &b);
}

static void add_grant(struct buf *b, const struct grant *grant)
{
	add_number(b, "grant", grant->id);
	add_text(b, "target", grant->target);
	add_text(b, "transport", grant->is_kernel ? "kernel" : "direct");
	add_number(b, "granted_by", grant->uid);
}

void record_grant_added(const struct sandbox *sb, const struct grant *grant)
{
	struct audit_event event = event_of(sb, AUDIT_GRANT_ADDED);
	struct buf b;

	event.detail = text_of(grant->text);
	buf_init(&b);
	add_grant(&b, grant);
	add_number(&b, "seconds", grant->seconds);
	if (grant->note)
		add_text(&b, "note", grant->note);
	add_with(sb, &event, &b);
}

void record_grant_ended(const struct sandbox *sb, const struct grant *grant, const char *why)
{
	struct audit_event event = event_of(sb, AUDIT_GRANT_ENDED);
	struct buf b;

	event.detail = text_of(grant->text);
	buf_init(&b);
	add_grant(&b, grant);
	add_text(&b, "ended_by", why);
	add_with(sb, &event, &b);
}

void record_halted(const struct sandbox *sb, bool is_halted, const char *detail)
{
	struct audit_event event = event_of(sb, is_halted ? AUDIT_HALTED : AUDIT_RESUMED);

	event.detail = text_of(detail);
	audit_sink_add(sb->sink, &event);
}

void record_canary(const struct sandbox *sb, const char *finding)
{
	struct audit_event event = event_of(sb, AUDIT_CANARY_FAILED);

	event.detail = text_of(finding);
	audit_sink_add(sb->sink, &event);
}

void record_adopted(const struct sandbox *sb, uint64_t n_records)
{
	struct audit_event event = event_of(sb, AUDIT_ADOPTED);
	struct buf b;

	event.detail = text_of("an earlier supervisor of this name died; what it left was ended");
	buf_init(&b);
	add_number(&b, "records", n_records);
	add_with(sb, &event, &b);
}

void record_worker(const struct sandbox *sb, const char *detail)
{
	struct audit_event event = event_of(sb, AUDIT_WORKER_RESTARTED);

	event.detail = text_of(detail);
	audit_sink_add(sb->sink, &event);
}

void record_secrets(const struct sandbox *sb, const char *read, const char *failed)
{
	struct audit_event event = event_of(sb, AUDIT_SECRETS_READ);
	struct buf b;

	buf_init(&b);
	add_text(&b, "read", read);
	add_text(&b, "failed", failed);
	add_with(sb, &event, &b);
}

void record_lost(const struct sandbox *sb, uint64_t count, const char *detail)
{
	struct audit_event event = event_of(sb, AUDIT_EVENTS_LOST);

	event.count = count;
	event.detail = text_of(detail);
	audit_sink_add(sb->sink, &event);
}

/* Reasons that nobody met are left out. */
static void add_counts(struct buf *b, const struct sandbox *sb, const uint64_t *counts)
{
	add_key(b, counts ? "kernel" : "records");
	buf_add_char(b, '{');
	for (int i = NEJ_REASON_NONE + 1; i < NEJ_REASON_COUNT; i++) {
		uint64_t n = counts ? counts[i] : audit_sink_count(sb->sink, (enum nej_reason)i);

		if (n)
			add_number(b, reason_word((enum nej_reason)i), n);
	}
	buf_add_char(b, '}');
}

void record_finished(const struct sandbox *sb)
{
	struct audit_event event = event_of(sb, AUDIT_SANDBOX_FINISHED);
	uint64_t counts[NEJ_COUNTER_COUNT] = {0};
	int status = sb->wait_status;
	struct buf b;

	buf_init(&b);
	if (sb->is_attached)
		add_text(&b, "ended_by", sb->ended_by ? sb->ended_by : "it could not start");
	else if (WIFSIGNALED(status))
		add_number(&b, "signal", (uint64_t)WTERMSIG(status));
	else
		add_number(&b, "exit_status", (uint64_t)WEXITSTATUS(status));
	if (!sb->is_attached && sb->ended_by)
		add_text(&b, "ended_by", sb->ended_by);
	add_resources(&b, sb);
	if (sb->object && object_counters(sb->object, counts) == 0) {
		counts[NEJ_REASON_FAMILY] += sb->n_families; /* no hook sees them */
		counts[NEJ_REASON_SOCKET_TYPE] += sb->n_types;
		for (int i = 0; i < NEJ_REASON_COUNT; i++)
			counts[i] -= sb->canary_refused[i]; /* no attempts */
		add_counts(&b, sb, counts);
		add_counts(&b, sb, NULL);
		add_number(&b, "redirected", counts[NEJ_COUNTER_REDIRECTED]);
		add_number(&b, "passed", counts[NEJ_COUNTER_PASSED]);
		add_number(&b, "probes", counts[NEJ_COUNTER_PROBES]);
		add_number(&b, "dropped_packets", counts[NEJ_COUNTER_DROPPED_PACKETS]);
		add_number(&b, "events_lost", counts[NEJ_COUNTER_EVENTS_LOST]);
	}
	add_with(sb, &event, &b);
}
