/* SPDX-License-Identifier: GPL-2.0-only */
/* The top of a policy; see parse.h. Rules are parse_rules.c's, other keys parse_options.c's. */
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS 24

static void init_draft(struct draft *d)
{
	memset(d, 0, sizeof(*d));
	arena_init(&d->arena);
	buf_init(&d->rules);
	buf_init(&d->patterns);
	buf_init(&d->tools);
	buf_init(&d->lists);
	buf_init(&d->secrets);
	buf_init(&d->secret_hosts);
	buf_init(&d->secret_args);
	buf_init(&d->upstreams);
	buf_init(&d->privates);
	buf_init(&d->host_ports);
	buf_init(&d->resolvers);
	buf_init(&d->unix_paths);
}

void draft_done(struct draft *d)
{
	for (size_t i = 0; i < DRAFT_COUNT(d->lists, struct draft_list); i++)
		free(DRAFT_AT(d->lists, struct draft_list, i)->data);
	buf_done(&d->rules);
	buf_done(&d->patterns);
	buf_done(&d->tools);
	buf_done(&d->lists);
	buf_done(&d->secrets);
	buf_done(&d->secret_hosts);
	buf_done(&d->secret_args);
	buf_done(&d->upstreams);
	buf_done(&d->privates);
	buf_done(&d->host_ports);
	buf_done(&d->resolvers);
	buf_done(&d->unix_paths);
	arena_done(&d->arena);
}

static bool is_failed(const struct draft *d)
{
	return d->arena.is_failed || d->rules.is_failed || d->patterns.is_failed ||
		d->lists.is_failed || d->secrets.is_failed || d->secret_hosts.is_failed ||
		d->secret_args.is_failed || d->upstreams.is_failed || d->privates.is_failed ||
		d->host_ports.is_failed || d->resolvers.is_failed || d->unix_paths.is_failed ||
		d->tools.is_failed;
}

static void parse_root(struct reading *r, const struct yaml_node *root)
{
	struct read_key keys[MAX_KEYS] = {{"rules", parse_rules}};
	size_t n = 1;

	if (!root || root->is_null) {
		err_add(r->errs, 1, 0, "write `version: 1`; without rules nothing can be reached",
			"the policy is empty");
		return;
	}
	for (size_t i = 0; i < parse_n_option_keys && n < MAX_KEYS; i++)
		keys[n++] = parse_option_keys[i];
	read_map(r, root, "the policy", keys, n, NULL);
	parse_check_rules(r);
}

int parse_policy(
	const char *text, size_t len_bytes, const char *dir, struct err_list *errs, struct draft *d)
{
	struct reading r = {.draft = d, .errs = errs, .dir = dir};
	struct yaml_node *root = NULL;
	int result;

	init_draft(d);
	result = yaml_parse(text, len_bytes, &d->arena, errs, &root);
	if (result < 0)
		return result;
	parse_root(&r, root);
	if (is_failed(d))
		return -ENOMEM;
	return errs->n_errors ? -EINVAL : 0;
}
