/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of the policy language out of YAML nodes: maps by tables of keys, words, numbers, lists.
 * Every reader adds an error with its place and mend when the value is not what is asked for.
 */
#ifndef NEJ_POLICY_READ_H
#define NEJ_POLICY_READ_H

#include "draft.h"
#include "yaml.h"

struct reading {
	struct draft *draft;
	struct err_list *errs;
	const char *dir; /* where `list:` files are looked for; NULL: the current folder */
};

struct read_key {
	const char *name;
	void (*read)(struct reading *r, const struct yaml_node *value, void *arg);
};

/* Calls each key's reader; unknown and duplicate keys are errors. what names the map in errors. */
void read_map(struct reading *r, const struct yaml_node *map, const char *what,
	const struct read_key *keys, size_t n_keys, void *arg);
/* A map whose keys are names of the writer's: duplicates and more than max are errors. */
bool read_is_named_map(
	struct reading *r, const struct yaml_node *map, const char *what, size_t max);

bool read_is_list(struct reading *r, const struct yaml_node *node, const char *what, size_t max);
bool read_is_text(struct reading *r, const struct yaml_node *node, const char *what);
/* The index of the word, or -1. words ends with NULL. */
int read_word(struct reading *r, const struct yaml_node *node, const char *what,
	const char *const *words);
bool read_bool(struct reading *r, const struct yaml_node *node, const char *what, bool *ret);
bool read_u64(struct reading *r, const struct yaml_node *node, const char *what, uint64_t min,
	uint64_t max, uint64_t *ret);

/* The key nearest to a mistyped one, or NULL. */
const char *read_nearest(const char *text, const struct read_key *keys, size_t n_keys);

#define READ_FAIL(r, node, mend, ...)                                                              \
	err_add((r)->errs, (node)->line, (node)->column, mend, __VA_ARGS__)

#endif
