/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: a change of the grants is compiled whole, written into the kernel, and handed
 * to the worker as a reload is, which ends what is no more allowed. A grant's end needs nobody: the
 * hooks and every decision look at its time (CLOCK_BOOTTIME, in what a worker cannot write). The
 * timer, armed only while there are grants, then ends what was open and cleans up. It waits while
 * another change is under way.
 */
#include "granting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "change.h"
#include "record.h"

#define AGAIN_NS 1000000000ull /* without memory */

struct granting {
	struct loop *loop;
	struct sandbox *sb;
	struct control *control;
	struct granting_hooks hooks;
	struct loop_io alarm; /* timerfd, set to the first end */
};

/* --- into force */

static void arm(struct granting *g, uint64_t at_ns)
{
	const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(at_ns / 1000000000),
					      .tv_nsec = (long)(at_ns % 1000000000)}};

	timerfd_settime(g->alarm.fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void end_all(struct granting *g, const char *why)
{
	const struct grant *ended;

	while ((ended = grants_end_one(&g->sb->grants)))
		record_grant_ended(g->sb, ended, why);
}

static void take_back(struct grants *all)
{
	for (size_t i = 0; i < all->n; i++)
		all->live[i]->is_ending = false;
}

static bool ends_kernel(const struct grants *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->live[i]->is_ending && all->live[i]->is_kernel)
			return true;
	return false;
}

/* Those marked as ending go. How many connections ended with them, or nothing has changed. */
static int end_marked(struct granting *g, const char *why)
{
	struct grants *all = &g->sb->grants;
	struct policy *overlay = NULL;
	struct err_list errs;
	int r;

	err_init(&errs, "grants");
	r = grants_compile(all, NULL, &errs, &overlay);
	if (r >= 0)
		r = change_grants(g->sb, overlay, ends_kernel(all));
	if (r < 0) {
		take_back(all);
		return r;
	}
	end_all(g, why);
	arm(g, grants_first_end(all));
	g->hooks.on_record(g->hooks.arg);
	return r;
}

/* --- grant */

static json_t *error_of(const struct err_list *errs)
{
	for (size_t i = 0; i < errs->n_items; i++)
		if (!errs->items[i].is_warning)
			return control_error("%s%s%s", errs->items[i].what,
				errs->items[i].mend[0] ? "; " : "", errs->items[i].mend);
	return control_error("the target cannot be used");
}

/* What this sandbox cannot do, or the policy's language does not let anybody open. */
static json_t *why_not(const struct sandbox *sb, struct policy *overlay, const struct grant *grant)
{
	const struct policy_grant rule = {.target = grant->target, .is_kernel = grant->is_kernel};
	enum nej_reason reason;

	if (policy_inspects(overlay) && !sb->can_inspect)
		return control_error(
			"a method or path has to be looked for inside TLS, and programs "
			"of this sandbox were not told to trust its authority: grant "
			"the host whole");
	if (grant->is_kernel && !sb->is_shared_net)
		return control_error(
			"the sandbox's own network has no way out but the proxy: leave "
			"the transport kernel out");
	reason = overlay_refusal(sb->policy, overlay, &rule);
	if (reason != NEJ_REASON_NONE)
		return control_error("it would open nothing: %s (%s)", reason_sentence(reason),
			reason_word(reason));
	return NULL;
}

static json_t *warnings_of(const struct err_list *errs)
{
	json_t *all = json_array();

	for (size_t i = 0; i < errs->n_items; i++)
		json_array_append_new(all, json_string(errs->items[i].what));
	return all;
}

static void mark_same(struct grants *all, const struct grant *like)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->live[i]->is_kernel == like->is_kernel &&
			strcmp(all->live[i]->target, like->target) == 0)
			all->live[i]->is_ending = true;
}

static json_t *answer_of(
	const struct sandbox *sb, const struct grant *grant, const struct err_list *errs)
{
	return json_pack("{s:b, s:I, s:s, s:I, s:o, s:b}", "ok", 1, "grant", (json_int_t)grant->id,
		"target", grant->target, "seconds", (json_int_t)grant->seconds, "warnings",
		warnings_of(errs), "halted", (int)sb->is_halted);
}

/* NULL when it is in force, and *ret_answer says so. */
static json_t *grant_it(
	struct granting *g, struct grant *grant, json_t **ret_answer, int *ret_n_cut)
{
	struct sandbox *sb = g->sb;
	struct policy *overlay = NULL;
	struct err_list errs;
	json_t *error;
	int r = grant_begin(grant, &sb->grants);

	if (r == -ENOSPC)
		return control_error(
			"%d grants are in force, which is the most there can be: revoke "
			"one",
			NEJ_MAX_GRANTS);
	err_init(&errs, "grants");
	if (r >= 0)
		r = grants_compile(&sb->grants, grant, &errs, &overlay);
	if (r == -EINVAL)
		return error_of(&errs);
	error = r < 0 ? NULL : why_not(sb, overlay, grant);
	if (error) {
		policy_free(overlay);
		return error;
	}
	if (r >= 0)
		r = change_grants(sb, overlay, ends_kernel(&sb->grants));
	if (r == -ENOSPC)
		return control_error("the grant does not fit into the kernel's maps");
	if (r < 0)
		return control_error("the grant cannot be put in force: %s", strerror(-r));
	*ret_answer = answer_of(sb, grant, &errs);
	*ret_n_cut = r;
	return NULL;
}

void granting_grant(struct granting *g, uint32_t id, const json_t *request)
{
	struct grants *all = &g->sb->grants;
	json_t *answer = NULL, *error;
	struct grant *grant;
	char why[128];
	int n_cut = 0;

	grant = grant_parse(request, why, sizeof(why));
	if (!grant) {
		control_reply(g->control, id, control_error("%s", why));
		return;
	}
	mark_same(all, grant);
	error = grant_it(g, grant, &answer, &n_cut);
	if (error) {
		take_back(all);
		grant_free(grant);
		control_reply(g->control, id, error);
		return;
	}
	end_all(g, "replaced");
	grants_add(all, grant);
	record_grant_added(g->sb, grant);
	arm(g, grants_first_end(all));
	g->hooks.on_record(g->hooks.arg);
	g->hooks.on_change(g->hooks.arg, id, answer, n_cut);
}

/* --- revoke, and the end by the clock */

static bool is_asked(const struct grant *grant, const json_t *request)
{
	const json_t *id = json_object_get(request, "grant");
	const char *target = json_string_value(json_object_get(request, "target"));

	return json_is_true(json_object_get(request, "all")) ||
		(json_is_integer(id) && json_integer_value(id) == (json_int_t)grant->id) ||
		(target && strcmp(target, grant->target) == 0);
}

void granting_revoke(struct granting *g, uint32_t id, const json_t *request)
{
	struct grants *all = &g->sb->grants;
	json_t *revoked = json_array();
	int r;

	for (size_t i = 0; i < all->n; i++)
		if (is_asked(all->live[i], request)) {
			all->live[i]->is_ending = true;
			json_array_append_new(revoked, json_string(all->live[i]->text));
		}
	if (!json_array_size(revoked)) {
		json_decref(revoked);
		control_reply(g->control, id, control_error("no such grant is in force"));
		return;
	}
	r = end_marked(g, "revoked");
	if (r < 0) {
		json_decref(revoked);
		control_reply(g->control, id,
			control_error("the grants cannot be changed: %s", strerror(-r)));
		return;
	}
	g->hooks.on_change(
		g->hooks.arg, id, json_pack("{s:b, s:o}", "ok", 1, "revoked", revoked), r);
}

static void end_due(struct granting *g)
{
	struct grants *all = &g->sb->grants;
	uint64_t now_ns = clock_boot_ns();
	bool is_any = false;
	int r;

	for (size_t i = 0; i < all->n; i++)
		if (all->live[i]->expiry_ns <= now_ns)
			is_any = all->live[i]->is_ending = true;
	if (!is_any)
		return;
	r = end_marked(g, "expired");
	if (r >= 0) {
		g->hooks.on_change(g->hooks.arg, 0, NULL, r);
		return;
	}
	log_error("a grant that has ended cannot be taken away yet: %s", strerror(-r));
	arm(g, now_ns + AGAIN_NS);
}

static void on_alarm(struct loop_io *io, uint32_t events)
{
	struct granting *g = CONTAINER_OF(io, struct granting, alarm);
	uint64_t n;

	(void)events;
	if (read(io->fd, &n, sizeof(n)) == sizeof(n))
		granting_settled(g);
}

void granting_settled(struct granting *g)
{
	if (g && g->sb->grants.n && !g->hooks.is_changing(g->hooks.arg))
		end_due(g);
}

int granting_lay(const struct sandbox *sb, struct policy *next)
{
	struct policy *overlay = NULL;
	struct err_list errs;
	int r;

	err_init(&errs, "grants");
	r = grants_compile(&sb->grants, NULL, &errs, &overlay);
	if (r >= 0)
		policy_free(overlay_lay(next, overlay));
	return r;
}

int granting_new(struct loop *loop, struct sandbox *sb, struct control *control,
	const struct granting_hooks *hooks, struct granting **ret)
{
	struct granting *g = calloc(1, sizeof(*g));
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), r;

	if (!g || fd < 0) {
		r = g ? -errno : -ENOMEM;
		cleanup_close(&fd);
		free(g);
		return r;
	}
	*g = (struct granting){.loop = loop,
		.sb = sb,
		.control = control,
		.hooks = *hooks,
		.alarm = {on_alarm, -1}};
	r = loop_add(loop, &g->alarm, fd, EPOLLIN);
	if (r < 0) {
		close(fd);
		free(g);
		return r;
	}
	*ret = g;
	return 0;
}

void granting_free(struct granting *g)
{
	int fd;

	if (!g)
		return;
	fd = g->alarm.fd;
	loop_del(g->loop, &g->alarm, true);
	close(fd);
	free(g);
}
