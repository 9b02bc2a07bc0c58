/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints another tool's network policy as one of ours; see import.h. The work is user/policy's. */
#include "import.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../policy/import.h"

#define EXIT_NO 1
#define EXIT_USAGE 2

struct arguments {
	const char *file;
	enum import_format from;
};

static const struct argp_option options[] = {
	{.name = "from",
		.key = 'f',
		.arg = "FORMAT",
		.doc = "What FILE is, when it does not show: `--from help` lists the formats"},
	{0},
};

static void list_formats(void)
{
	for (int i = IMPORT_NONE + 1; i < IMPORT_FORMATS; i++)
		printf("%-16s %s\n", import_word((enum import_format)i),
			import_title((enum import_format)i));
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'f':
		if (!strcmp(arg, "help")) {
			list_formats();
			exit(0);
		}
		a->from = import_find(arg);
		if (a->from == IMPORT_NONE)
			argp_error(
				state, "--from: `%s` is no format; `--from help` lists them", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_error(state, "one file at a time");
		a->file = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which file?");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Notes on standard error; true when one says that something was lost. */
static bool print_notes(const struct import *im, const char *file)
{
	bool is_lost = false;

	for (size_t i = 0; i < DRAFT_COUNT(im->notes, struct import_note); i++) {
		const struct import_note *note = DRAFT_AT(im->notes, struct import_note, i);

		fprintf(stderr, "%s:%u: note: %s%s\n", file, note->line,
			note->is_lost ? "not kept: " : "", note->text);
		is_lost = is_lost || note->is_lost;
	}
	return is_lost;
}

static int import_text(const struct arguments *a, const char *file, const char *text, size_t len)
{
	_cleanup_(buf_done)
	struct buf policy;
	_cleanup_(import_done)
	struct import im;
	struct err_list errs;
	bool is_lost;
	int r;

	buf_init(&policy);
	err_init(&errs, file);
	r = import_read(text, len, a->from, &errs, &im);
	is_lost = print_notes(&im, file);
	if (!r)
		r = import_print(&im, file, &policy);
	if (r < 0) {
		if (errs.n_errors)
			err_print(&errs, stderr);
		else
			log_error("%s: %s", file, strerror(-r));
		return EXIT_USAGE;
	}
	fwrite(policy.data, 1, policy.len, stdout);
	return is_lost ? EXIT_NO : 0;
}

int cli_import(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "FILE",
		.doc = "Prints the network policy of another tool as a policy of nej. FILE `-` is "
		       "standard input. What changed its meaning on the way is said line by line "
		       "on "
		       "standard error.",
	};
	_cleanup_free_ char *text = NULL;
	struct arguments a = {0};
	bool is_stdin;
	size_t len;
	int r;

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	is_stdin = !strcmp(a.file, "-");
	r = is_stdin ? file_read_fd(STDIN_FILENO, NEJ_MAX_POLICY_BYTES, &text, &len)
		     : file_read(a.file, NEJ_MAX_POLICY_BYTES, &text, &len);
	if (r < 0) {
		log_error("%s: %s", a.file, strerror(-r));
		return EXIT_USAGE;
	}
	return import_text(&a, is_stdin ? "stdin" : a.file, text, len);
}
