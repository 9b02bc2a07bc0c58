/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: one change at a time. A reload loads and checks the new policy (an error
 * leaves everything as it was), puts it into the kernel's maps, hands it to the worker with the
 * secrets, and waits for INIT_TURNED: by then every thread decides by it and has ended what it
 * forbids. Halting writes the settings first, so that nothing new begins while the worker cuts.
 * A worker that ends meanwhile is followed by one that starts with what is in force, and one that
 * does not follow a change is ended. Grants are granting.c's; for the worker they are a reload.
 */
#include "live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../policy/overlay.h"
#include "account.h"
#include "canary.h"
#include "change.h"
#include "control.h"
#include "describe.h"
#include "granting.h"
#include "prepare.h"
#include "record.h"

#define TURN_LIMIT_MS 10000 /* a worker that takes longer is not worth waiting for */

struct live {
	struct sandbox *sb;
	struct loop *loop;
	struct live_hooks hooks;
	struct control *control;
	struct loop_timer limit;
	bool wants_cut;    /* the canary failed: what is open is to end */
	bool is_busy;      /* the worker was told to change, and is not done */
	uint32_t asked_by; /* request that waits for it; 0: none */
	json_t *answer;    /* for it, but for the number of ended connections */
	int n_cut;         /* of those, past the worker */
	struct account account;
	struct granting *granting;
	struct canary *canary;
	uint32_t canary_asked[CONTROL_MAX_CLIENTS];
	size_t n_canary_asked;
};

/* --- waiting for the worker */

/* id 0: nobody asked. */
static void reply(struct live *l, uint32_t id, json_t *answer)
{
	if (id)
		control_reply(l->control, id, answer);
	else
		json_decref(answer);
}

static void settle(struct live *l, int n_ended)
{
	json_t *answer = l->answer;
	uint32_t id = l->asked_by;

	loop_timer_del(l->loop, &l->limit);
	l->answer = NULL;
	l->asked_by = 0;
	l->is_busy = false;
	if (n_ended >= 0)
		json_object_set_new(answer, "ended", json_integer(n_ended + l->n_cut));
	reply(l, id, answer);
	granting_settled(l->granting);
}

/* The next one starts with what is in force, and with nothing open. */
static void end_worker(const struct sandbox *sb)
{
	log_error("the worker does not follow a change: it is ended");
	if (sb->worker.pid > 0)
		kill(sb->worker.pid, SIGKILL);
}

static void on_limit(struct loop_timer *timer)
{
	struct live *l = CONTAINER_OF(timer, struct live, limit);

	json_decref(l->answer);
	l->answer = control_error("it is in force in the kernel, but the worker does not answer");
	end_worker(l->sb);
	settle(l, -1);
}

static void wait_for_worker(struct live *l, uint32_t id, json_t *answer)
{
	l->is_busy = true;
	l->asked_by = id;
	l->answer = answer;
	l->limit.on_timeout = on_limit;
	loop_timer_set(l->loop, &l->limit, TURN_LIMIT_MS);
}

static int tell_worker(const struct sandbox *sb, enum init_word word, int value, int fd)
{
	if (sb->worker.control < 0)
		return -EPIPE;
	return init_send(sb->worker.control, word, value, NULL, fd);
}

/* What the canary wants cut, when the worker is free to do it; a new worker has nothing to cut. */
static void cut(struct live *l)
{
	if (!l->wants_cut || l->is_busy)
		return;
	l->wants_cut = false;
	l->n_cut = change_cut(l->sb);
	if (tell_worker(l->sb, INIT_HALT, 0, -1) >= 0)
		wait_for_worker(l, 0, NULL);
}

void live_on_turned(struct live *l, int value)
{
	if (value < 0)
		end_worker(l->sb);
	else if (l->sb->is_halted)
		change_cut_inside(l->sb);
	settle(l, value);
	cut(l);
}

void live_on_worker_end(struct live *l)
{
	l->wants_cut = false;
	settle(l, -1);
	account_on_counted(&l->account, -1);
}

void live_on_counted(struct live *l, int value)
{
	account_on_counted(&l->account, value);
}

void live_count_restart(struct live *l)
{
	l->account.n_restarts++;
}

void live_quiet(struct live *l)
{
	if (l)
		canary_stop(l->canary);
}

/* --- halt */

void live_apply_refusal(struct sandbox *sb)
{
	bool is_failed = sb->is_audit_failed && policy_fails_closed(sb->policy);

	atomic_store(&sb->state->refuse,
		sb->is_halted       ? NEJ_REASON_HALTED
			: is_failed ? NEJ_REASON_AUDIT_UNAVAILABLE
				    : NEJ_REASON_NONE);
	sb->settings.flags &= ~(uint32_t)(NEJ_F_AUDIT_FAILED | NEJ_F_HALTED);
	if (is_failed)
		sb->settings.flags |= NEJ_F_AUDIT_FAILED;
	if (sb->is_halted)
		sb->settings.flags |= NEJ_F_HALTED;
	object_settings(sb->object, &sb->settings);
}

static void set_halted(struct live *l, bool is_halted, const char *by)
{
	l->sb->is_halted = is_halted;
	live_apply_refusal(l->sb);
	record_halted(l->sb, is_halted, by);
	l->hooks.on_record(l->hooks.arg);
}

/* It waits for nothing: while another change is under way the worker does this one after it. */
static void do_halt(struct live *l, uint32_t id, const json_t *request)
{
	int n_cut;

	(void)request;
	if (!l->sb->is_halted)
		set_halted(l, true, "by the operator");
	else
		live_apply_refusal(l->sb); /* somebody may have written over it */
	n_cut = change_cut(l->sb);
	if (tell_worker(l->sb, INIT_HALT, 0, -1) < 0 || l->is_busy) {
		control_reply(l->control, id, json_pack("{s:b, s:i}", "ok", 1, "ended", n_cut));
	} else {
		l->n_cut = n_cut;
		wait_for_worker(l, id, json_pack("{s:b}", "ok", 1));
	}
}

static void do_resume(struct live *l, uint32_t id, const json_t *request)
{
	(void)request;
	if (l->sb->is_halted)
		set_halted(l, false, "by the operator");
	l->sb->is_broken = false;
	canary_run_soon(l->canary);
	control_reply(l->control, id, json_pack("{s:b}", "ok", 1));
}

/* --- status */

static void do_status(struct live *l, uint32_t id, const json_t *request)
{
	(void)request;
	account_ask(&l->account, id);
}

/* --- canary */

static bool is_changing(void *arg)
{
	const struct live *l = arg;

	return l->is_busy;
}

/* Nothing is let through any more, whatever is wrong; a change under way ends before the cut. */
static void on_canary_failed(void *arg, const char *why)
{
	struct live *l = arg;

	record_canary(l->sb, why);
	l->sb->is_broken = true;
	if (!l->sb->is_halted)
		set_halted(l, true, "by the canary");
	l->wants_cut = true;
	cut(l);
}

static void on_canary_done(void *arg)
{
	struct live *l = arg;

	/* Whoever reads the counters now finds its own tries told apart. */
	l->hooks.take_events(l->hooks.arg);
	while (l->n_canary_asked)
		control_reply(l->control, l->canary_asked[--l->n_canary_asked],
			json_pack("{s:b, s:o}", "ok", 1, "canary", canary_print(l->canary)));
}

static void do_canary(struct live *l, uint32_t id, const json_t *request)
{
	(void)request;
	if (l->sb->is_halted || l->n_canary_asked == ARRAY_SIZE(l->canary_asked)) {
		control_reply(l->control, id, control_error("it is halted"));
		return;
	}
	l->canary_asked[l->n_canary_asked++] = id;
	canary_run_soon(l->canary);
}

/* --- reload */

/* The policy of a file, or every error of it. */
static json_t *load(const char *path, struct policy **ret)
{
	_cleanup_free_ char *text = NULL;
	struct err_list errs;
	size_t len = 0;
	FILE *to;
	int r;

	err_init(&errs, path);
	r = policy_load(path, &errs, ret);
	if (r == 0)
		return NULL;
	if (r != -EINVAL)
		return control_error("cannot read the policy %s: %s", path, strerror(-r));
	to = open_memstream(&text, &len);
	if (!to)
		return control_error("out of memory");
	err_print(&errs, to);
	fclose(to);
	if (len && text[len - 1] == '\n')
		text[len - 1] = 0;
	return control_error("%s", text);
}

/* What cannot change under a command that has started. */
static json_t *why_not(const struct sandbox *sb, const struct policy *next)
{
	size_t n = policy_secret_count(sb->policy);

	if (policy_inspects(next) && !sb->can_inspect)
		return control_error("the new policy looks inside TLS, and programs of this "
				     "sandbox were not told to trust its authority: start it "
				     "anew");
	if (policy_has_tls_upstream(next) && !sb->can_tls)
		return control_error("the new policy has an https forward proxy, for which the "
				     "sandbox was not started: start it anew");
	if (n != policy_secret_count(next))
		return control_error("the new policy has other secrets, whose placeholders the "
				     "command does not have: start it anew");
	for (size_t i = 0; i < n; i++) {
		struct policy_secret a, b;

		policy_secret(sb->policy, i, &a);
		policy_secret(next, i, &b);
		if (strcmp(a.name, b.name))
			return control_error("the new policy has the secret `%s` where `%s` was: "
					     "start the sandbox anew",
				b.name, a.name);
	}
	return NULL;
}

/* It is the sandbox's policy from here on. */
static void adopt(struct live *l, struct policy *next, const char *path)
{
	struct sandbox *sb = l->sb;

	policy_free(sb->policy_before);
	sb->policy_before = sb->policy;
	sb->policy = next;
	sb->generation++;
	sb->secrets.policy = next;
	snprintf(sb->policy_path, sizeof(sb->policy_path), "%s", path);
	sb->companion_plan.policy_fd = policy_fd(next);
	atomic_store(&sb->state->generation, sb->generation);
	audit_sink_set_policy(sb->sink, sb->generation, policy_sha256(next), prepare_lookup, sb);
	record_policy(sb);
	live_apply_refusal(sb); /* its `audit` may say otherwise */
	(void)describe(sb);
	l->hooks.on_record(l->hooks.arg);
}

static int hand_over_grants(const struct sandbox *sb)
{
	const struct policy *grants = overlay_of(sb->policy);

	return tell_worker(sb, INIT_GRANTS, 0, grants ? policy_fd(grants) : -1);
}

static int hand_over(const struct sandbox *sb)
{
	_cleanup_close_ int secrets = -1;
	int r = tell_worker(sb, INIT_POLICY, (int)sb->generation, policy_fd(sb->policy));

	if (r >= 0 && overlay_of(sb->policy))
		r = hand_over_grants(sb);
	if (r >= 0 && sb->secrets.n) {
		secrets = secrets_encode(&sb->secrets);
		r = secrets < 0 ? secrets : tell_worker(sb, INIT_SECRETS, 0, secrets);
	}
	return r < 0 ? r : tell_worker(sb, INIT_TURN, 0, -1);
}

static json_t *answer_of(const struct sandbox *sb)
{
	return json_pack("{s:b, s:I, s:s}", "ok", 1, "generation", (json_int_t)sb->generation,
		"policy_sha256", policy_sha256(sb->policy));
}

static void do_reload(struct live *l, uint32_t id, const json_t *request)
{
	const char *given = json_string_value(json_object_get(request, "policy"));
	struct sandbox *sb = l->sb;
	char path[PATH_MAX], why[512];
	struct policy *next = NULL;
	json_t *error = NULL;
	int r;

	given = given ? given : sb->policy_path;
	if (!*given)
		error = control_error("the sandbox was started without a policy: name one");
	else if (!realpath(given, path))
		error = control_error("cannot read the policy %s: %s", given, strerror(errno));
	if (!error)
		error = load(path, &next);
	if (!error && prepare_trust(path, next, &sb->id, why, sizeof(why)) != 0)
		error = control_error("%s", why);
	if (!error)
		error = why_not(sb, next);
	r = error ? 0 : granting_lay(sb, next);
	if (!error && r >= 0)
		r = change_policy(sb, next);
	if (r < 0)
		error = control_error(
			"the policy does not fit into the kernel's maps: %s", strerror(-r));
	if (error) {
		policy_free(next);
		control_reply(l->control, id, error);
		return;
	}
	l->n_cut = r;
	adopt(l, next, path);
	if (hand_over(sb) < 0)
		control_reply(l->control, id, answer_of(sb)); /* the next worker has it */
	else
		wait_for_worker(l, id, answer_of(sb));
	canary_run_soon(l->canary);
	l->hooks.on_policy(l->hooks.arg);
}

/* --- grants */

static void on_grants(void *arg, uint32_t id, json_t *answer, int n_cut)
{
	struct live *l = arg;

	l->n_cut = n_cut;
	canary_void(l->canary);
	if (hand_over_grants(l->sb) < 0 || tell_worker(l->sb, INIT_TURN, 0, -1) < 0) {
		reply(l, id, answer); /* the next worker has them */
		return;
	}
	wait_for_worker(l, id, answer);
}

static void on_grants_record(void *arg)
{
	struct live *l = arg;

	l->hooks.on_record(l->hooks.arg);
}

static void do_grant(struct live *l, uint32_t id, const json_t *request)
{
	granting_grant(l->granting, id, request);
}

static void do_revoke(struct live *l, uint32_t id, const json_t *request)
{
	granting_revoke(l->granting, id, request);
}

/* --- detach */

static void do_detach(struct live *l, uint32_t id, const json_t *request)
{
	if (json_is_true(json_object_get(request, "if_empty")) &&
		cgroup_is_populated(l->sb->cgroup.path)) {
		control_reply(l->control, id, control_error("processes are in it"));
		return;
	}
	if (!l->sb->is_attached) {
		control_reply(l->control, id,
			control_error("it was started by `nej run`: its end is its command's"));
		return;
	}
	control_reply(l->control, id, json_pack("{s:b}", "ok", 1));
	l->hooks.on_detach(l->hooks.arg);
}

/* --- requests */

static const struct {
	const char *word;
	void (*act)(struct live *l, uint32_t id, const json_t *request);
	bool is_change;
} commands[] = {
	{"status", do_status, false},
	{"reload", do_reload, true},
	{"halt", do_halt, false},
	{"resume", do_resume, true},
	{"grant", do_grant, true},
	{"revoke", do_revoke, true},
	{"detach", do_detach, true},
	{"canary", do_canary, false},
};

static void on_request(void *arg, uint32_t id, const json_t *request)
{
	const char *word = json_string_value(json_object_get(request, "command"));
	struct live *l = arg;

	for (size_t i = 0; word && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(word, commands[i].word) != 0)
			continue;
		if (commands[i].is_change && l->is_busy)
			control_reply(l->control, id,
				control_error("another change is under way: try again"));
		else
			commands[i].act(l, id, request);
		return;
	}
	control_reply(l->control, id,
		control_error("`command` is status, reload, halt, resume, grant, revoke, detach or "
			      "canary"));
}

int live_new(
	struct loop *loop, struct sandbox *sb, const struct live_hooks *hooks, struct live **ret)
{
	struct live *l = calloc(1, sizeof(*l));
	const struct canary_hooks canary = {is_changing, on_canary_failed, on_canary_done, l};
	const struct granting_hooks grants = {is_changing, on_grants, on_grants_record, l};
	int r;

	if (!l)
		return -ENOMEM;
	*l = (struct live){.sb = sb, .loop = loop, .hooks = *hooks};
	/* Where one user is meant, root is free wherever it is: an operator's shell may be in there. */
	r = control_new(loop, sb->name,
		sb->settings.flags & NEJ_F_SCOPE_UID ? NULL : sb->cgroup.path, on_request, l,
		&l->control);
	if (r >= 0)
		r = granting_new(loop, sb, l->control, &grants, &l->granting);
	if (r >= 0)
		r = canary_new(loop, sb, &canary, &l->canary);
	if (r < 0) {
		granting_free(l->granting);
		control_free(l->control);
		free(l);
		return r;
	}
	account_init(&l->account, loop, sb, l->control, l->canary);
	*ret = l;
	return 0;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	if (l->is_busy)
		settle(l, -1); /* it was done; that its command has ended by it is no failure */
	account_done(&l->account);
	canary_free(l->canary);
	granting_free(l->granting);
	control_free(l->control);
	json_decref(l->answer);
	policy_free(l->sb->policy_before);
	l->sb->policy_before = NULL;
	free(l);
}
