/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej log`: one record a line, in columns; see log.h. */
#include "log.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../audit/lines.h"
#include "../base/cleanup.h"
#include "../base/log.h"

#define EXIT_USAGE 2
#define FOLLOW_MS 200
#define MAX_SHOWN 160 /* bytes of one text in a line */

struct options {
	bool want_follow, want_denied, want_json;
	const char *path;
};

static const struct argp_option option_table[] = {
	{"follow", 'f', NULL, 0, "Go on as the log grows, across rotation", 0},
	{"denied", 'd', NULL, 0, "Refused attempts only", 0},
	{"json", 'j', NULL, 0, "The records as they stand in the log", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'f':
		o->want_follow = true;
		return 0;
	case 'd':
		o->want_denied = true;
		return 0;
	case 'j':
		o->want_json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->path)
			argp_usage(state);
		o->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->path)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "AUDIT",
	.doc = "Prints an audit log, oldest record first, its rotated files included.\v"
	       "Columns: time, verdict, layer, protocol, destination, request, reason or rule, "
	       "process, number of attempts.",
};

/* How an event is called in a column. */
static const struct {
	const char *event, *word, *colour;
} verdicts[] = {
	{"network_allowed", "ALLOW", "\033[32m"},
	{"network_closed", "CLOSE", ""},
	{"network_blocked", "DENY", "\033[31m"},
	{"dns_blocked", "DENY", "\033[31m"},
	{"network_failed", "FAIL", "\033[33m"},
	{"secret_injected", "SECRET", "\033[36m"},
	{"secret_reflected", "REFLECT", "\033[36m"},
	{"events_lost", "LOST", "\033[35m"},
	{"audit_gap", "GAP", "\033[35m"},
	{"grant_added", "GRANT", "\033[36m"},
	{"grant_ended", "ENDED", "\033[36m"},
};

/* UTF-8 that the JSON reader has checked. */
static size_t decode(const unsigned char *s, unsigned int *ret)
{
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	unsigned int c = s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret = c;
	return n;
}

/* Returns the columns it took. */
static int print_text(const char *text, FILE *to)
{
	const unsigned char *s = (const unsigned char *)text;
	int columns = 0;

	while (*s && columns < MAX_SHOWN) {
		unsigned int c;
		size_t n;

		if (*s >= 0x20 && *s < 0x7f) {
			fputc(*s++, to);
			columns++;
			continue;
		}
		n = *s >= 0xc0 ? decode(s, &c) : 0;
		if (n)
			columns += fprintf(to, "\\u{%x}", c);
		else
			columns += fprintf(to, "\\x%02x", *s);
		s += n ? n : 1;
	}
	if (*s)
		columns += fprintf(to, "...");
	return columns;
}

void log_print_text(const char *text, FILE *to)
{
	print_text(text, to);
}

static void pad(int columns, int width, FILE *to)
{
	for (; columns < width; columns++)
		fputc(' ', to);
	fputc(' ', to);
}

static void print_column(const char *text, int width, FILE *to)
{
	pad(print_text(text ? text : "-", to), width, to);
}

static void print_verdict(const struct audit_record *r, bool is_tty, FILE *to)
{
	const char *word = r->event ? r->event : "?", *colour = "";

	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (r->event && strcmp(r->event, verdicts[i].event) == 0) {
			word = verdicts[i].word;
			colour = verdicts[i].colour;
		}
	}
	if (is_tty)
		fputs(colour, to);
	print_column(word, 6, to);
	if (is_tty && *colour)
		fputs("\033[0m", to);
}

static void print_target(const struct audit_record *r, FILE *to)
{
	const char *host = r->host ? r->host : r->addr;
	bool is_v6 = host && strchr(host, ':');
	int columns = is_v6 ? fprintf(to, "[") : 0;

	columns += print_text(host ? host : "-", to);
	if (is_v6)
		columns += fprintf(to, "]");
	if (r->port)
		columns += fprintf(to, ":%u", r->port);
	pad(columns, 30, to);
}

static void print_reason(const struct audit_record *r, FILE *to)
{
	if (r->reason && strcmp(r->reason, "none") == 0)
		return;
	if (r->rule_text) {
		if (r->rule_line) /* a grant has none */
			fprintf(to, "line %u: ", r->rule_line);
		print_text(r->rule_text, to);
	}
	if (r->reason && (!r->rule_text || strcmp(r->reason, "rule") != 0)) {
		fputs(r->rule_text ? " (" : "", to);
		print_text(r->reason, to);
		fputs(r->rule_text ? ")" : "", to);
	}
}

static void print_rest(const struct audit_record *r, FILE *to)
{
	if (r->method || r->url) {
		print_text(r->method ? r->method : "-", to);
		fputc(' ', to);
		if (r->url) {
			print_text(r->url, to);
			fputc(' ', to);
		}
	}
	print_reason(r, to);
	if (r->comm || r->pid) {
		fputs("  ", to);
		print_text(r->comm ? r->comm : "?", to);
		fprintf(to, "[%llu]", (unsigned long long)r->pid);
	}
	if (r->count != 1)
		fprintf(to, "  x%llu", (unsigned long long)r->count);
	if (r->detail) {
		fputs("  ", to);
		print_text(r->detail, to);
	}
	if (r->note) {
		fputs("  # ", to);
		print_text(r->note, to);
	}
	fputc('\n', to);
}

/* `2026-11-30T22:36:57.123456Z` without its T, and to the millisecond. */
static void print_time(const char *time, FILE *to)
{
	char text[24];

	if (time && strlen(time) == 27) {
		memcpy(text, time, 23);
		text[10] = ' ';
		text[23] = 0;
		time = text;
	}
	print_column(time, 23, to);
}

static void print_proto(const struct audit_record *r, FILE *to)
{
	int columns = print_text(r->proto ? r->proto : "-", to);

	if (r->app) {
		columns += fprintf(to, "/");
		columns += print_text(r->app, to);
	}
	pad(columns, 9, to);
}

void log_print_record(const struct audit_record *r, bool is_tty, FILE *to)
{
	print_time(r->time, to);
	print_verdict(r, is_tty, to);
	print_column(r->layer, 6, to);
	if (r->proto || r->host || r->addr) {
		print_proto(r, to);
		print_target(r, to);
	}
	print_rest(r, to);
}

/* As it stands, unless it is not one of ours and holds what a terminal might obey. */
static void print_json(const struct audit_record *r, const char *line, size_t len)
{
	bool is_ascii = true;

	for (size_t i = 0; i < len; i++)
		is_ascii &= line[i] >= 0x20 && line[i] < 0x7f;
	if (is_ascii)
		fwrite(line, 1, len, stdout);
	else
		json_dumpf(r->json, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
}

static void print_line(const struct options *o, const char *line, size_t len, bool is_tty)
{
	struct audit_record r;

	if (!audit_record_parse(line, len, &r)) {
		if (!o->want_json)
			printf("(a line that is no record; see `nej verify`)\n");
		return;
	}
	if (!o->want_denied || r.is_denied) {
		if (o->want_json)
			print_json(&r, line, len);
		else
			log_print_record(&r, is_tty, stdout);
	}
	audit_record_done(&r);
}

static void wait_for_more(void)
{
	fflush(stdout);
	nanosleep(&(struct timespec){0, FOLLOW_MS * 1000000L}, NULL);
}

int cli_log(int argc, char **argv)
{
	bool is_tty = isatty(STDOUT_FILENO);
	struct options o = {0};
	struct lines *lines;
	const char *line;
	size_t len;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return EXIT_USAGE;
	r = lines_open(o.path, &lines);
	if (r < 0) {
		log_error("%s: %s", o.path, strerror(-r));
		return EXIT_USAGE;
	}
	while ((r = lines_next(lines, &line, &len)) >= 0) {
		if (r > 0)
			print_line(&o, line, len, is_tty);
		else if (o.want_follow)
			wait_for_more();
		else
			break;
	}
	lines_close(lines);
	if (r < 0)
		log_error("%s: %s", o.path, strerror(-r));
	return r < 0 ? 1 : 0;
}
