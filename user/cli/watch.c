/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej watch`: finds the log, and shows it on a terminal (watch_live.h) or as lines; see watch.h. */
#include "watch.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../audit/lines.h"
#include "../audit/read.h"
#include "../base/log.h"
#include "../sandbox/options.h"
#include "../sandbox/state.h"
#include "log.h"
#include "tty.h"
#include "watch_live.h"

#define FOLLOW_MS 200
#define HISTORY_BYTES (256u << 10) /* of the log, shown at the start */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **name = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*name)
			argp_error(state, "one sandbox at a time");
		*name = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*name)
			argp_error(state, "the name of a sandbox is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- as lines */

static bool is_shown(const struct audit_record *r)
{
	return r->is_denied ||
		(r->event &&
			(strncmp(r->event, "grant_", 6) == 0 || strcmp(r->event, "halted") == 0 ||
				strcmp(r->event, "resumed") == 0));
}

/* True: it was the last one. */
static bool print_line(const char *line, size_t len)
{
	struct audit_record r;
	bool is_end;

	if (!audit_record_parse(line, len, &r))
		return false;
	if (is_shown(&r))
		log_print_record(&r, false, stdout);
	is_end = r.event && strcmp(r.event, "sandbox_finished") == 0;
	audit_record_done(&r);
	return is_end;
}

static bool is_live(const char *name)
{
	static struct state state;

	return state_read(name, &state) == 0 && state.is_live;
}

static int print_lines(const char *name, struct lines *lines)
{
	bool was_live = true;
	const char *line;
	size_t len;
	int r;

	while ((r = lines_next(lines, &line, &len)) >= 0) {
		if (r > 0 && print_line(line, len))
			return 0;
		if (r > 0)
			continue;
		if (fflush(stdout) == EOF)
			return -errno;
		/* what a killed one wrote last is read first */
		if (!was_live)
			return 0;
		nanosleep(&(struct timespec){0, FOLLOW_MS * 1000000L}, NULL);
		was_live = is_live(name);
	}
	return r;
}

int cli_watch(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse,
		.args_doc = "NAME",
		.doc = "Shows what a running sandbox is refused, as it happens. On a terminal with "
		       "keys to grant it; elsewhere as lines."};
	static struct state state;
	const char *name = NULL;
	struct lines *lines;
	bool is_tty;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &name) != 0)
		return SANDBOX_EXIT_USAGE;
	r = state_read(name, &state);
	if (r < 0 || !state.is_live) {
		if (r < 0 && r != -ENOENT)
			log_error("cannot read " STATE_ROOT "/%s: %s%s", name, strerror(-r),
				r == -EACCES ? " (run it with sudo)" : "");
		else
			log_error("no sandbox named %s runs here", name);
		return 1;
	}
	is_tty = tty_is_able(STDIN_FILENO, STDOUT_FILENO);
	r = lines_open_end(state.audit, is_tty ? HISTORY_BYTES : 0, &lines);
	if (r < 0) {
		log_error("%s: %s", state.audit, strerror(-r));
		return 1;
	}
	r = is_tty ? watch_live(name, lines) : print_lines(name, lines);
	lines_close(lines);
	if (r < 0)
		log_error("%s", strerror(-r));
	return r < 0;
}
