/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej verify`: prints what audit/verify.c finds; see verify.h. */
#include "verify.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../audit/sink.h"
#include "../audit/verify.h"
#include "../base/cleanup.h"
#include "../base/log.h"

#define EXIT_BROKEN 1
#define EXIT_USAGE 2

struct options {
	const char *key;
	const char *path;
};

static const struct argp_option option_table[] = {
	{"key", 'k', "PUB", 0,
		"Public key (PEM) the head must be signed with; default: " AUDIT_PUB_PATH, 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'k':
		o->key = arg;
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
	.doc = "Checks the chain of an audit log and the signature of its head.\v"
	       "Exit status: 0 it holds, 1 it is broken, 2 wrong usage.",
};

/* The key to check with: NULL when none was asked for and there is no default one. */
static int load_key(const struct options *o, struct chain_key **ret)
{
	const char *path = o->key ? o->key : AUDIT_PUB_PATH;
	int r = chain_key_load_public(path, ret);

	if (r == -ENOENT && !o->key) {
		*ret = NULL;
		return 0;
	}
	if (r < 0)
		log_error("%s: %s", path,
			r == -EBADMSG ? "not an Ed25519 public key in PEM form" : strerror(-r));
	return r;
}

static void print_good(const struct options *o, const struct verify_result *v)
{
	printf("%s: %llu records in %llu file%s, the chain holds\n", o->path,
		(unsigned long long)v->n_records, (unsigned long long)v->n_files,
		v->n_files == 1 ? "" : "s");
	if (v->first_seq > 1)
		printf("begins with record %llu: older files were rotated away\n",
			(unsigned long long)v->first_seq);
	if (v->head.signature == HEAD_SIGNED)
		printf("signed up to record %llu at %s by key %s\n",
			(unsigned long long)v->head.seq, v->head.time, v->head.key_id);
	else
		printf("head at record %llu; its signature was not checked: no key (--key)\n",
			(unsigned long long)v->head.seq);
	if (v->n_unsigned)
		printf("the newest %llu records are not signed yet: their writer runs, or was "
		       "killed\n",
			(unsigned long long)v->n_unsigned);
	if (v->n_gaps)
		printf("%llu audit_gap record%s: the writer found the log changed; see `nej log`\n",
			(unsigned long long)v->n_gaps, v->n_gaps == 1 ? "" : "s");
}

static void print_broken(const struct options *o, const struct verify_result *v)
{
	_cleanup_(buf_done)
	struct buf b = {0};

	verify_print(v, &b);
	if (v->line)
		printf("%s:%llu: %s\n", v->file, (unsigned long long)v->line, b.data);
	else
		printf("%s: %s\n", o->path, b.data);
}

int cli_verify(int argc, char **argv)
{
	struct chain_key *key = NULL;
	struct verify_result *v;
	struct options o = {0};
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) || load_key(&o, &key) < 0)
		return EXIT_USAGE;
	v = calloc(1, sizeof(*v));
	r = v ? verify_log(o.path, key, v) : -ENOMEM;
	chain_key_free(key);
	if (r < 0)
		log_error("%s: %s", o.path, strerror(-r));
	else if (v->fault == VERIFY_GOOD)
		print_good(&o, v);
	else
		print_broken(&o, v);
	r = r < 0 ? EXIT_USAGE : v->fault == VERIFY_GOOD ? 0 : EXIT_BROKEN;
	free(v);
	return r;
}
