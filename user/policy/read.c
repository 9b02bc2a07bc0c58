/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads maps by tables of keys, and plain values; see read.h. */
#include "read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/num.h"

#define MAX_WORD 32

/* Levenshtein's distance of short words. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(b), row[MAX_WORD + 1];

	if (strlen(a) > MAX_WORD || n > MAX_WORD)
		return MAX_WORD;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t cost = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j + 1] + 1 < cost)
				cost = row[j + 1] + 1;
			row[j + 1] = cost;
		}
	}
	return row[n];
}

const char *read_nearest(const char *text, const struct read_key *keys, size_t n_keys)
{
	const char *best = NULL;
	size_t best_distance = strlen(text) / 3 + 2;

	for (size_t i = 0; i < n_keys; i++) {
		size_t d = distance(text, keys[i].name);

		if (d < best_distance) {
			best_distance = d;
			best = keys[i].name;
		}
	}
	return best;
}

static void fail_unknown(struct reading *r, const struct yaml_node *key, const char *what,
	const struct read_key *keys, size_t n_keys)
{
	const char *nearest = read_nearest(key->text, keys, n_keys);
	char mend[200];
	size_t n;

	if (nearest) {
		snprintf(mend, sizeof(mend), "did you mean `%s`?", nearest);
	} else {
		n = (size_t)snprintf(mend, sizeof(mend), "the keys are");
		for (size_t i = 0; i < n_keys && n < sizeof(mend); i++)
			n += (size_t)snprintf(
				mend + n, sizeof(mend) - n, "%s %s", i ? "," : "", keys[i].name);
	}
	READ_FAIL(r, key, mend, "unknown key `%.64s` in %s", key->text, what);
}

static void fail_duplicate(
	struct reading *r, const struct yaml_node *key, const struct yaml_node *first)
{
	char mend[64];

	snprintf(mend, sizeof(mend), "keep one; the first is on line %u", first->line);
	READ_FAIL(r, key, mend, "duplicate key `%.64s`", key->text);
}

static const char *kind_word(const struct yaml_node *node)
{
	if (node->kind == YAML_MAP)
		return "a map";
	if (node->kind == YAML_LIST)
		return "a list";
	return node->is_null ? "nothing" : "a single value";
}

static bool is_kind(struct reading *r, const struct yaml_node *node, enum yaml_kind kind,
	const char *what, const char *mend)
{
	static const char *const wanted[] = {"a single value", "a map", "a list"};

	if (node->kind == kind && !node->is_null)
		return true;
	READ_FAIL(r, node, mend, "%s must be %s, this is %s", what, wanted[kind], kind_word(node));
	return false;
}

void read_map(struct reading *r, const struct yaml_node *map, const char *what,
	const struct read_key *keys, size_t n_keys, void *arg)
{
	const struct yaml_node *seen[MAX_WORD] = {NULL};

	if (!is_kind(r, map, YAML_MAP, what, "write `key: value` lines"))
		return;
	for (const struct yaml_node *v = map->first; v; v = v->next) {
		size_t i = 0;

		while (i < n_keys && strcmp(keys[i].name, v->key->text) != 0)
			i++;
		if (i == n_keys) {
			fail_unknown(r, v->key, what, keys, n_keys);
		} else if (seen[i]) {
			fail_duplicate(r, v->key, seen[i]);
		} else {
			seen[i] = v->key;
			keys[i].read(r, v, arg);
		}
	}
}

bool read_is_named_map(struct reading *r, const struct yaml_node *map, const char *what, size_t max)
{
	bool is_good = true;

	if (!is_kind(r, map, YAML_MAP, what, "write `name: {...}` lines"))
		return false;
	if (map->n > max) {
		READ_FAIL(r, map, NULL, "%s has %zu entries, at most %zu are possible", what,
			map->n, max);
		return false;
	}
	for (const struct yaml_node *v = map->first; v; v = v->next) {
		for (const struct yaml_node *w = map->first; w != v; w = w->next) {
			if (strcmp(v->key->text, w->key->text) != 0)
				continue;
			fail_duplicate(r, v->key, w->key);
			is_good = false;
			break;
		}
	}
	return is_good;
}

bool read_is_list(struct reading *r, const struct yaml_node *node, const char *what, size_t max)
{
	if (!is_kind(r, node, YAML_LIST, what, "write `[...]`, or `[]` for none"))
		return false;
	if (node->n > max)
		READ_FAIL(r, node, NULL, "%s has %zu entries, at most %zu are possible", what,
			node->n, max);
	return node->n <= max;
}

bool read_is_text(struct reading *r, const struct yaml_node *node, const char *what)
{
	if (!is_kind(r, node, YAML_SCALAR, what, NULL))
		return false;
	if (node->len)
		return true;
	READ_FAIL(r, node, NULL, "%s is empty", what);
	return false;
}

int read_word(
	struct reading *r, const struct yaml_node *node, const char *what, const char *const *words)
{
	char mend[160];
	size_t n;

	if (node->kind == YAML_SCALAR)
		for (int i = 0; words[i]; i++)
			if (!strcmp(words[i], node->text))
				return i;
	n = (size_t)snprintf(mend, sizeof(mend), "write");
	for (size_t i = 0; words[i] && n < sizeof(mend); i++)
		n += (size_t)snprintf(
			mend + n, sizeof(mend) - n, "%s `%s`", i ? " or" : "", words[i]);
	if (node->kind == YAML_SCALAR && !node->is_null)
		READ_FAIL(r, node, mend, "`%.64s` is no value of %s", node->text, what);
	else
		READ_FAIL(r, node, mend, "%s must be one word, this is %s", what, kind_word(node));
	return -1;
}

bool read_bool(struct reading *r, const struct yaml_node *node, const char *what, bool *ret)
{
	if (node->kind == YAML_SCALAR && node->is_plain &&
		(!strcmp(node->text, "true") || !strcmp(node->text, "false"))) {
		*ret = node->text[0] == 't';
		return true;
	}
	READ_FAIL(r, node, "write true or false", "%s must be true or false, this is %s%.32s", what,
		node->kind == YAML_SCALAR && !node->is_null ? "" : kind_word(node),
		node->kind == YAML_SCALAR && !node->is_null ? node->text : "");
	return false;
}

bool read_u64(struct reading *r, const struct yaml_node *node, const char *what, uint64_t min,
	uint64_t max, uint64_t *ret)
{
	char mend[96];
	uint64_t v;

	if (node->kind == YAML_SCALAR && node->is_plain &&
		!num_parse_u64(node->text, node->len, max, &v) && v >= min) {
		*ret = v;
		return true;
	}
	snprintf(mend, sizeof(mend), "write a whole number from %llu to %llu",
		(unsigned long long)min, (unsigned long long)max);
	READ_FAIL(r, node, mend, "`%.32s` is no value of %s",
		node->kind == YAML_SCALAR ? node->text : kind_word(node), what);
	return false;
}
