/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej suggest`: prints what wanted.c gathers, as a policy that can be loaded as it is. */
#include "suggest.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../audit/lines.h"
#include "../base/cleanup.h"
#include "../base/log.h"
#include "log.h"
#include "wanted.h"

#define EXIT_USAGE 2
#define MAX_NOTES 200 /* printed; the rest are counted */

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const char **path = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*path)
			argp_usage(state);
		*path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*path)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse_option,
	.args_doc = "AUDIT",
	.doc = "Prints a policy that would have allowed what an audit log says was denied, most "
	       "wanted first.\vRead each line before using it: it is what the program asked for, "
	       "not what it should have.",
};

/* Plain scalars need no quotes; hosts and paths hold nothing that quotes do not cover. */
static bool is_plain_scalar(const char *s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    " ./:_,-";

	return strspn(s, plain) == strlen(s) && *s != '-' && *s != ' ' && *s != ':';
}

static void print_rule(const struct wanted *w, FILE *to)
{
	char target[WANTED_TEXT_BYTES];

	wanted_print(w, target);
	fprintf(to, is_plain_scalar(target) ? "  - allow: %s" : "  - allow: \"%s\"", target);
	fprintf(to, "  # %llu denied", (unsigned long long)w->count);
	if (w->kind == WANTED_SITE)
		fprintf(to, ", %u names", w->n_hosts);
	if (w->is_by_name)
		fprintf(to, ", only its name was asked for");
	if (w->shared[0])
		fprintf(to, "; %s is shared: anyone can have a name there", w->shared);
	fputc('\n', to);
}

static void print_notes(const struct wanted_list *l, FILE *to)
{
	unsigned int n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct wanted *w = l->items[i];

		if (w->kind != WANTED_NOTE)
			continue;
		if (!n++)
			fprintf(to, "# No rule would have allowed these:\n");
		if (n > MAX_NOTES)
			continue;
		fprintf(to, "# %llu denied: ", (unsigned long long)w->count);
		log_print_text(w->note, to);
		fputc('\n', to);
	}
	if (n > MAX_NOTES)
		fprintf(to, "# and %u more kinds\n", n - MAX_NOTES);
	if (l->n_others)
		fprintf(to, "# %llu denied: too many different ones to list\n",
			(unsigned long long)l->n_others);
}

static void print_list(const struct wanted_list *l, FILE *to)
{
	bool has_rules = false;

	for (size_t i = 0; i < l->n; i++)
		has_rules |= l->items[i]->kind != WANTED_NOTE;
	fprintf(to,
		"# %llu attempts were denied. These lines would have allowed them, if no deny "
		"rule stands\n# before them. It is what the program asked for, not what it "
		"should have.\nversion: 1\n",
		(unsigned long long)l->n_denied);
	fputs(has_rules ? "rules:\n" : "rules: []\n", to);
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i]->kind != WANTED_NOTE)
			print_rule(l->items[i], to);
	print_notes(l, to);
}

int suggest_print(const char *path, FILE *to)
{
	_cleanup_(wanted_done)
	struct wanted_list list = {0};
	struct lines *lines;
	const char *line;
	size_t len;
	int r = lines_open(path, &lines);

	if (r < 0)
		return r;
	r = wanted_init(&list);
	while (r == 0 && (r = lines_next(lines, &line, &len)) > 0) {
		struct audit_record record;

		r = 0;
		if (!audit_record_parse(line, len, &record))
			continue;
		r = wanted_add(&list, &record);
		audit_record_done(&record);
	}
	lines_close(lines);
	if (r == 0)
		r = wanted_settle(&list);
	if (r == 0)
		print_list(&list, to);
	return r;
}

int cli_suggest(int argc, char **argv)
{
	const char *path = NULL;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &path))
		return EXIT_USAGE;
	r = suggest_print(path, stdout);
	if (r < 0)
		log_error("%s: %s", path, strerror(-r));
	return r == 0 ? 0 : r == -ENOENT || r == -EACCES ? EXIT_USAGE : 1;
}
