/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks a sandbox for grants; what they are is sandbox/grants.h's. */
#include "grant.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/duration.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../base/num.h"
#include "../sandbox/grants.h"
#include "../sandbox/options.h"
#include "ask.h"
#include "log.h"

#define ANSWER_MS 20000

enum option_key {
	KEY_FOR = 256,
	KEY_NOTE,
	KEY_TRANSPORT,
	KEY_LIST,
	KEY_ALL,
};

static const struct argp_option grant_options[] = {
	{"for", KEY_FOR, "DURATION", 0, "How long: 30s, 10m, 2h; at most 24h", 0},
	{"note", KEY_NOTE, "TEXT", 0, "Why, for the audit log", 0},
	{"transport", KEY_TRANSPORT, "WAY", 0, "direct (the default) or kernel, as of a rule", 0},
	{"list", KEY_LIST, NULL, 0, "Print those in force", 0},
	{0},
};
static const struct argp_option revoke_options[] = {
	{"all", KEY_ALL, NULL, 0, "All that are in force", 0},
	{0},
};

struct grant_options {
	const char *name, *note, *transport;
	const char *method; /* a word before the target that is given by itself */
	const char *target;
	uint64_t seconds;
	bool is_list, is_all;
};

static void take_duration(struct grant_options *o, const char *arg, struct argp_state *state)
{
	if (duration_parse(arg, GRANTS_MAX_SECONDS, &o->seconds) < 0 || !o->seconds)
		argp_error(state, "`%s`: write how long, as in 30s, 10m or 2h, at most 24h", arg);
}

static void take_word(struct grant_options *o, const char *arg, struct argp_state *state)
{
	if (!o->name)
		o->name = arg;
	else if (!o->target)
		o->target = arg;
	else if (!o->method) {
		o->method = o->target;
		o->target = arg;
	} else
		argp_error(state, "one target at a time");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct grant_options *o = state->input;

	switch (key) {
	case KEY_FOR:
		take_duration(o, arg, state);
		return 0;
	case KEY_NOTE:
		o->note = arg;
		return 0;
	case KEY_TRANSPORT:
		o->transport = arg;
		return 0;
	case KEY_LIST:
		o->is_list = true;
		return 0;
	case KEY_ALL:
		o->is_all = true;
		return 0;
	case ARGP_KEY_ARG:
		take_word(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!o->name)
			argp_error(state, "the name of a sandbox is missing");
		if (!o->target != (o->is_list || o->is_all))
			argp_error(state,
				o->target ? "a target is too much here" : "the target is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* `POST https://…` may come as one word or as two. NULL without memory. */
static char *target_of(const struct grant_options *o)
{
	char *text = NULL;

	if (asprintf(&text, "%s%s%s", o->method ? o->method : "", o->method ? " " : "", o->target) <
		0)
		return NULL;
	return text;
}

/* --- who it is */

static bool parse_uid(const char *text, uint32_t *ret)
{
	uint64_t uid;

	if (!text || num_parse_u64(text, strlen(text), UINT32_MAX - 1, &uid) < 0)
		return false;
	*ret = (uint32_t)uid;
	return true;
}

static uint32_t grant_uid(void)
{
	_cleanup_free_ char *text = NULL;
	uint32_t uid = 0;
	size_t len = 0;

	if (file_read("/proc/self/loginuid", 32, &text, &len) == 0 && parse_uid(text, &uid))
		return uid;
	parse_uid(getenv("SUDO_UID"), &uid);
	return uid;
}

/* --- grant */

json_t *grant_request(const char *target, uint64_t seconds)
{
	return json_pack("{s:s, s:s, s:I, s:I}", "command", "grant", "target", target, "seconds",
		(json_int_t)seconds, "uid", (json_int_t)grant_uid());
}

static void print_granted(const char *name, const json_t *answer)
{
	const json_t *warnings = json_object_get(answer, "warnings");
	char duration[DURATION_TEXT_BYTES];

	duration_print((uint64_t)json_integer_value(json_object_get(answer, "seconds")), duration);
	for (size_t i = 0; i < json_array_size(warnings); i++)
		log_warning("%s", json_string_value(json_array_get(warnings, i)));
	printf("%s: grant %lld: ", name,
		(long long)json_integer_value(json_object_get(answer, "grant")));
	log_print_text(json_string_value(json_object_get(answer, "target")), stdout);
	printf(", for %s\n", duration);
	if (json_is_true(json_object_get(answer, "halted")))
		printf("%s is halted: nothing passes before `nej resume`\n", name);
}

static int grant(const struct grant_options *o)
{
	_cleanup_free_ char *target = target_of(o);
	json_t *request = target ? grant_request(target, o->seconds) : NULL, *answer;

	if (!request) {
		log_error("the target is not a text in UTF-8");
		return SANDBOX_EXIT_USAGE;
	}
	if (o->note && json_object_set_new(request, "note", json_string(o->note)) < 0) {
		log_error("the note is not a text in UTF-8");
		json_decref(request);
		return SANDBOX_EXIT_USAGE;
	}
	if (o->transport)
		json_object_set_new(request, "transport", json_string(o->transport));
	if (!ask(o->name, request, ANSWER_MS, &answer))
		return 1;
	print_granted(o->name, answer);
	json_decref(answer);
	return 0;
}

/* --- the list */

void grant_print(const json_t *grant, FILE *to)
{
	const char *note = json_string_value(json_object_get(grant, "note"));
	char left[DURATION_TEXT_BYTES];

	duration_print((uint64_t)json_integer_value(json_object_get(grant, "remaining_s")), left);
	fprintf(to, "grant %lld: ", (long long)json_integer_value(json_object_get(grant, "id")));
	log_print_text(json_string_value(json_object_get(grant, "target")), to);
	if (!strcmp(json_string_value(json_object_get(grant, "transport")), "kernel"))
		fprintf(to, " (transport: kernel)");
	fprintf(to, ", %s left, by uid %lld", left,
		(long long)json_integer_value(json_object_get(grant, "uid")));
	if (note) {
		fprintf(to, "  # ");
		log_print_text(note, to);
	}
	fputc('\n', to);
}

static int list(const struct grant_options *o)
{
	json_t *answer, *grants;

	if (!ask(o->name, json_pack("{s:s}", "command", "status"), ANSWER_MS, &answer))
		return 1;
	grants = json_object_get(answer, "grants");
	for (size_t i = 0; i < json_array_size(grants); i++)
		grant_print(json_array_get(grants, i), stdout);
	if (!json_array_size(grants))
		printf("no grant is in force\n");
	json_decref(answer);
	return 0;
}

int cli_grant(int argc, char **argv)
{
	static const struct argp argp = {.options = grant_options,
		.parser = parse,
		.args_doc = "NAME TARGET --for DURATION\nNAME --list",
		.doc = "Allows a running sandbox TARGET for a while, before all rules of its "
		       "policy.\vTARGET is written as in a rule: a host, HOST:PORT, "
		       "tcp://HOST:PORT, METHOD https://HOST/PATH, an address."};
	struct grant_options o = {0};

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return SANDBOX_EXIT_USAGE;
	if (o.is_list)
		return list(&o);
	if (!o.seconds) {
		log_error("say how long: --for 10m");
		return SANDBOX_EXIT_USAGE;
	}
	return grant(&o);
}

/* --- revoke */

static json_t *revoke_request(const struct grant_options *o, const char *target)
{
	json_t *request = json_pack("{s:s}", "command", "revoke");
	uint64_t id;

	if (o->is_all)
		json_object_set_new(request, "all", json_true());
	else if (num_parse_u64(target, strlen(target), NEJ_MAX_GRANT_ID, &id) == 0)
		json_object_set_new(request, "grant", json_integer((json_int_t)id));
	else
		json_object_set_new(request, "target", json_string(target));
	return request;
}

static void print_revoked(const char *name, const json_t *answer)
{
	const json_t *revoked = json_object_get(answer, "revoked");
	const json_t *ended = json_object_get(answer, "ended");

	for (size_t i = 0; i < json_array_size(revoked); i++) {
		printf("%s: revoked ", name);
		log_print_text(json_string_value(json_array_get(revoked, i)), stdout);
		putchar('\n');
	}
	if (ended)
		printf("%s: %lld connection%s ended\n", name, (long long)json_integer_value(ended),
			json_integer_value(ended) == 1 ? "" : "s");
}

int cli_revoke(int argc, char **argv)
{
	static const struct argp argp = {.options = revoke_options,
		.parser = parse,
		.args_doc = "NAME ID|TARGET\nNAME --all",
		.doc = "Ends grants before their time, and the connections that they let through."};
	_cleanup_free_ char *target = NULL;
	struct grant_options o = {0};
	json_t *answer;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return SANDBOX_EXIT_USAGE;
	target = o.target ? target_of(&o) : NULL;
	if (!ask(o.name, revoke_request(&o, target), ANSWER_MS, &answer))
		return 1;
	print_revoked(o.name, answer);
	json_decref(answer);
	return 0;
}
