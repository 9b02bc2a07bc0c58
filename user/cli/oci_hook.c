/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what a container runtime gives its hooks; all else is sandbox/oci.c's. */
#include "oci_hook.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../sandbox/oci.h"
#include "../sandbox/options.h"

#define CONFIG_MAX_BYTES (16 * 1024 * 1024)
#define WHY_BYTES 256

enum option_key {
	KEY_POLICIES = 256,
	KEY_DEFAULT,
	KEY_REQUIRE,
	KEY_ACCEPT,
};

struct hook {
	const char *stage;
	struct oci_plan plan;
};

static const struct argp_option options[] = {
	{"policies", KEY_POLICIES, "DIR", 0,
		"Where the policies are that can be named (default: " OCICHOICE_POLICIES
		", and by full path below " OCICHOICE_ROOT ")",
		0},
	{"default", KEY_DEFAULT, "POLICY", 0,
		"For containers without the annotation (default: " OCICHOICE_DEFAULT
		", where it is there)",
		0},
	{"require", KEY_REQUIRE, NULL, 0,
		"Without annotation and default a container does not start", 0},
	{"accept", KEY_ACCEPT, "LIST", 0,
		"Start containers that can get past nej by a capability (NET_RAW), by what of the "
		"host is mounted (mounts), by its disks (devices) or by its processes (processes)",
		0},
	{0},
};

static const struct stage {
	const char *name;
	bool is_start;
} stages[] = {
	{"createRuntime", true},
	{"prestart", true}, /* the older name: the same moment */
	{"poststop", false},
};

static const struct stage *find_stage(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		if (strcmp(stages[i].name, name) == 0)
			return &stages[i];
	return NULL;
}

/* A hook's working directory is whatever its runtime has. */
static const char *absolute(const char *path, struct argp_state *state)
{
	if (path[0] != '/')
		argp_error(state, "`%s` is no full path", path);
	return path;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct hook *h = state->input;
	char why[WHY_BYTES];

	switch (key) {
	case KEY_POLICIES:
		h->plan.choice.policies = absolute(arg, state);
		return 0;
	case KEY_DEFAULT:
		h->plan.choice.fallback = absolute(arg, state);
		return 0;
	case KEY_REQUIRE:
		h->plan.choice.is_required = true;
		return 0;
	case KEY_ACCEPT:
		if (ociguard_parse_accept(arg, &h->plan.accept, why, sizeof(why)) < 0)
			argp_error(state, "--accept: %s", why);
		return 0;
	case ARGP_KEY_ARG:
		if (h->stage)
			argp_error(state, "one stage at a time");
		h->stage = arg;
		return 0;
	case ARGP_KEY_END:
		if (!h->stage || !find_stage(h->stage))
			argp_error(state, "the stage is createRuntime or poststop");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Where the state says nothing of annotations, the bundle does. */
static int read_bundle(struct ocistate *s, char *why, size_t why_bytes)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX + 16];
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/config.json", s->bundle);
	r = file_read(path, CONFIG_MAX_BYTES, &text, &len);
	if (r >= 0)
		return ocistate_parse_config(text, len, s, why, why_bytes);
	snprintf(why, why_bytes, "%.128s: %s", path, strerror(-r));
	return r;
}

static int read_state(struct ocistate *ret, bool wants_annotations)
{
	_cleanup_free_ char *text = NULL;
	char why[WHY_BYTES] = "";
	size_t len;
	int r = file_read_fd(STDIN_FILENO, OCISTATE_MAX_BYTES, &text, &len);

	if (r < 0)
		snprintf(why, sizeof(why), "standard input: %s", strerror(-r));
	else
		r = ocistate_parse(text, len, ret, why, sizeof(why));
	if (r >= 0 && wants_annotations && !ret->has_annotations)
		r = read_bundle(ret, why, sizeof(why));
	if (r < 0)
		log_error("%s", why);
	return r;
}

int cli_oci_hook(int argc, char **argv)
{
	static const struct argp argp = {.options = options,
		.parser = parse,
		.args_doc = "createRuntime|poststop",
		.doc = "A hook of OCI runtimes: reads a container's state on standard input and "
		       "confines it by the policy that its annotation nej.policy names, before its "
		       "process runs; or lets go of what it left."};
	struct hook h = {0};
	static struct ocistate s;
	bool is_start;

	if (argp_parse(&argp, argc, argv, 0, NULL, &h) != 0)
		return SANDBOX_EXIT_USAGE;
	log_to_syslog(); /* crun drops what hooks say */
	is_start = find_stage(h.stage)->is_start;
	if (read_state(&s, is_start) < 0)
		return SANDBOX_EXIT_USAGE;
	return is_start ? oci_confine(&s, &h.plan) : oci_release(&s);
}
