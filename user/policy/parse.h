/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy text to a draft: every key of the language, every error found in one go. Reads the files
 * of `list:` targets and `ca` too. What the draft means for a connection is compile.c's and decide.c's.
 */
#ifndef NEJ_POLICY_PARSE_H
#define NEJ_POLICY_PARSE_H

#include "../base/err.h"
#include "draft.h"
#include "read.h"

/* 0; -EINVAL with errors in errs; other negative errno. The draft is to be given back by
 * draft_done either way. */
int parse_policy(const char *text, size_t len_bytes, const char *dir, struct err_list *errs,
	struct draft *d);
void draft_done(struct draft *d);

/* parse_rules.c: the value of `rules`. */
void parse_rules(struct reading *r, const struct yaml_node *value, void *arg);
/* What can only be said when all is read: `via` names, overlapping kernel ranges. */
void parse_check_rules(struct reading *r);

/* parse_options.c: every other key. */
extern const struct read_key parse_option_keys[];
extern const size_t parse_n_option_keys;
void parse_limits(struct reading *r, const struct yaml_node *value, void *limits);

/* parse_upstream.c: the value of `upstream`. */
void parse_upstreams(struct reading *r, const struct yaml_node *value, void *arg);

/* parse_secrets.c: the value of `secrets`. */
void parse_secrets(struct reading *r, const struct yaml_node *value, void *arg);

#endif
