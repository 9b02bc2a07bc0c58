/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: ten times in the idle time, but not more often than once a second, a look at
 * what would have changed had anything happened: attempts on record, connections that are open in the
 * network namespace (an open one counts, quiet or not), and the times of the terminal, which the
 * kernel keeps to eight seconds. With the host's namespace open connections are not told from others'
 * and do not count. The canary leaves no trace in any of them. Told to end, it has the grace.
 */
#include "curfew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "options.h"

#define LOOKS 10
#define MIN_LOOK_MS 1000
#define DEFAULT_GRACE_S 10
#define MAX_SNMP_BYTES 65536

struct traces {
	uint64_t n_attempts;
	struct timespec read, written; /* of the terminal */
};

struct curfew {
	struct loop *loop;
	struct sandbox *sb;
	struct curfew_hooks hooks;
	struct loop_timer look, grace;
	uint64_t idle_ms, look_ms, active_ms; /* when it was last */
	struct traces seen;
	char why[96];
};

static uint64_t limit_of(const struct sandbox *sb, enum limit which)
{
	return sb->options->limits[which];
}

/* --- traces */

/* CurrEstab of RFC 4022, in the namespace of the command: the seventh number behind `Tcp:`. */
static uint64_t count_established(const struct sandbox *sb)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/net/snmp", sb->init.pid);
	if (file_read(path, MAX_SNMP_BYTES, &text, &len) < 0)
		return 0;
	at = strstr(text, "\nTcp: ");
	at = at ? strstr(at + 1, "\nTcp: ") : NULL; /* the first line has the names */
	for (int field = 0; at && field < 9; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static struct traces take_traces(const struct sandbox *sb)
{
	struct traces t = {.n_attempts = tally_attempts(audit_sink_tally(sb->sink))};
	struct stat st;

	if (sb->terminal.fd >= 0 && fstat(sb->terminal.fd, &st) == 0) {
		t.read = st.st_atim;
		t.written = st.st_mtim;
	}
	return t;
}

static bool is_same(const struct traces *a, const struct traces *b)
{
	return a->n_attempts == b->n_attempts && a->read.tv_sec == b->read.tv_sec &&
		a->written.tv_sec == b->written.tv_sec;
}

static bool has_happened(struct curfew *c)
{
	struct traces now = take_traces(c->sb);
	bool is_quiet = is_same(&now, &c->seen);

	c->seen = now;
	return !is_quiet || (!c->sb->is_shared_net && count_established(c->sb) > 0);
}

/* --- the end */

static void on_grace(struct loop_timer *timer)
{
	struct curfew *c = CONTAINER_OF(timer, struct curfew, grace);
	char text[LIMIT_TEXT_BYTES];

	limit_print(LIMIT_GRACE,
		limit_of(c->sb, LIMIT_GRACE) ? limit_of(c->sb, LIMIT_GRACE) : DEFAULT_GRACE_S,
		text);
	log_notice("%s did not end within %s: killed", c->sb->name, text);
	if (!c->sb->ended_by) {
		snprintf(c->why, sizeof(c->why), "killed %s after SIGTERM", text);
		c->sb->ended_by = c->why;
	}
	c->hooks.on_kill(c->hooks.arg);
}

static void give_grace(struct curfew *c, uint64_t seconds)
{
	if (!c->grace.heap_slot)
		loop_timer_set(c->loop, &c->grace, seconds * 1000);
}

static void end_idle(struct curfew *c)
{
	uint64_t grace_s = limit_of(c->sb, LIMIT_GRACE);
	char text[LIMIT_TEXT_BYTES];

	limit_print(LIMIT_IDLE, limit_of(c->sb, LIMIT_IDLE), text);
	snprintf(c->why, sizeof(c->why), "idle for %s", text);
	c->sb->ended_by = c->why;
	log_notice("%s is %s: its command is told to end", c->sb->name, c->why);
	give_grace(c, grace_s ? grace_s : DEFAULT_GRACE_S);
	c->hooks.on_term(c->hooks.arg);
}

static void on_look(struct loop_timer *timer)
{
	struct curfew *c = CONTAINER_OF(timer, struct curfew, look);
	uint64_t now = loop_now_ms(c->loop);

	if (has_happened(c))
		c->active_ms = now;
	if (now - c->active_ms >= c->idle_ms)
		end_idle(c);
	else
		loop_timer_set(c->loop, &c->look, c->look_ms);
}

void curfew_on_term(struct curfew *c)
{
	if (c && limit_of(c->sb, LIMIT_GRACE))
		give_grace(c, limit_of(c->sb, LIMIT_GRACE));
}

/* --- itself */

int curfew_new(struct loop *loop, struct sandbox *sb, const struct curfew_hooks *hooks,
	struct curfew **ret)
{
	struct curfew *c;

	*ret = NULL;
	if (!limit_of(sb, LIMIT_IDLE) && !limit_of(sb, LIMIT_GRACE))
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct curfew){.loop = loop,
		.sb = sb,
		.hooks = *hooks,
		.look.on_timeout = on_look,
		.grace.on_timeout = on_grace,
		.idle_ms = limit_of(sb, LIMIT_IDLE) * 1000,
		.active_ms = loop_now_ms(loop)};
	c->look_ms = c->idle_ms / LOOKS < MIN_LOOK_MS ? MIN_LOOK_MS : c->idle_ms / LOOKS;
	*ret = c;
	if (!c->idle_ms)
		return 0;
	c->seen = take_traces(sb);
	return loop_timer_set(loop, &c->look, c->look_ms);
}

void curfew_free(struct curfew *c)
{
	if (!c)
		return;
	loop_timer_del(c->loop, &c->look);
	loop_timer_del(c->loop, &c->grace);
	free(c);
}
