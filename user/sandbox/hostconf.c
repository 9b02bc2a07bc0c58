/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's own file; see hostconf.h. */
#include "hostconf.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../policy/yaml.h"
#include "options.h"

#define MAX_BYTES 65536

/* The later of two would hold, whichever was meant. */
static void check_twice(const struct yaml_node *map, struct err_list *errs)
{
	for (const struct yaml_node *v = map->first; v; v = v->next)
		for (const struct yaml_node *w = v->next; w; w = w->next)
			if (strcmp(v->key->text, w->key->text) == 0)
				err_add(errs, w->key->line, w->key->column, "leave one of them out",
					"duplicate key `%.32s`", w->key->text);
}

static void read_limit(const struct yaml_node *v, uint64_t *into, struct err_list *errs)
{
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (strcmp(v->key->text, limit_word((enum limit)i)) != 0)
			continue;
		if (v->kind != YAML_SCALAR || limit_parse((enum limit)i, v->text, &into[i]) < 0)
			err_add(errs, v->line, v->column, limit_forms((enum limit)i),
				"`%.32s` is no value for %s", v->kind == YAML_SCALAR ? v->text : "",
				v->key->text);
		return;
	}
	err_add(errs, v->key->line, v->key->column, "there are memory, pids, cpus, idle and grace",
		"unknown key `%.32s`", v->key->text);
}

static void read_limits(const struct yaml_node *v, uint64_t *into, struct err_list *errs)
{
	if (v->kind != YAML_MAP) {
		err_add(errs, v->line, v->column, "write `memory: 2G` and the like below it",
			"`%s` is no map", v->key->text);
		return;
	}
	check_twice(v, errs);
	for (const struct yaml_node *e = v->first; e; e = e->next)
		read_limit(e, into, errs);
}

static void read_key(const struct yaml_node *v, struct hostconf *c, struct err_list *errs)
{
	const char *key = v->key->text;

	if (strcmp(key, "defaults") == 0)
		read_limits(v, c->defaults, errs);
	else if (strcmp(key, "ceilings") == 0)
		read_limits(v, c->ceilings, errs);
	else if (strcmp(key, "version") != 0)
		err_add(errs, v->key->line, v->key->column,
			"there are version, defaults and ceilings", "unknown key `%.32s`", key);
	else if (v->kind != YAML_SCALAR || strcmp(v->text, "1") != 0)
		err_add(errs, v->line, v->column, "write `version: 1`", "unknown version");
}

static void read_keys(const struct yaml_node *root, struct hostconf *c, struct err_list *errs)
{
	check_twice(root, errs);
	for (const struct yaml_node *v = root->first; v; v = v->next)
		read_key(v, c, errs);
}

/* One that cannot be had is a mistake of the file, not of whoever asks for nothing. */
static void check_defaults(const struct hostconf *c, struct err_list *errs)
{
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (c->ceilings[i] && c->defaults[i] > c->ceilings[i])
			err_add(errs, 0, 0, "lower the one or raise the other",
				"the default of %s is over its ceiling", limit_word((enum limit)i));
}

int hostconf_parse(const char *text, size_t len_bytes, struct err_list *errs, struct hostconf *ret)
{
	struct hostconf c = {0};
	struct yaml_node *root;
	struct arena a;
	int r;

	arena_init(&a);
	r = yaml_parse(text, len_bytes, &a, errs, &root);
	if (r >= 0 && root && root->kind != YAML_MAP)
		err_add(errs, root->line, root->column, "write `version: 1` and keys below it",
			"the file is no map");
	else if (r >= 0 && root)
		read_keys(root, &c, errs);
	check_defaults(&c, errs);
	arena_done(&a);
	if (r < 0 || errs->n_errors)
		return r < 0 ? r : -EINVAL;
	*ret = c;
	return 0;
}

bool hostconf_settle(
	const struct hostconf *c, uint64_t limits[static LIMIT_COUNT], enum limit *ret_which)
{
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (!limits[i])
			limits[i] = c->defaults[i] ? c->defaults[i] : c->ceilings[i];
		*ret_which = (enum limit)i;
		if (c->ceilings[i] && limits[i] > c->ceilings[i])
			return false;
	}
	return true;
}

static int settle(const struct hostconf *c, uint64_t *limits)
{
	char asked[LIMIT_TEXT_BYTES], most[LIMIT_TEXT_BYTES];
	enum limit which;

	if (hostconf_settle(c, limits, &which))
		return 0;
	limit_print(which, limits[which], asked);
	limit_print(which, c->ceilings[which], most);
	log_error("--%s %s is over this host's ceiling of %s (" HOSTCONF_PATH ")",
		limit_word(which), asked, most);
	return SANDBOX_EXIT_USAGE;
}

int hostconf_apply(uint64_t limits[static LIMIT_COUNT])
{
	_cleanup_free_ char *text = NULL;
	char culprit[PATH_MAX];
	struct hostconf c;
	struct err_list errs;
	size_t len;
	int r = file_read(HOSTCONF_PATH, MAX_BYTES, &text, &len);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r >= 0)
		r = file_is_writable_by(HOSTCONF_PATH, FILE_NOT_ROOT, FILE_NOT_ROOT, culprit);
	if (r < 0) {
		log_error("cannot read " HOSTCONF_PATH ": %s", strerror(-r));
		return SANDBOX_EXIT_USAGE;
	}
	if (r > 0) {
		log_error(HOSTCONF_PATH " is not root's alone: others may change %s", culprit);
		return SANDBOX_EXIT_USAGE;
	}
	err_init(&errs, HOSTCONF_PATH);
	r = hostconf_parse(text, len, &errs, &c);
	err_print(&errs, stderr);
	return r < 0 ? SANDBOX_EXIT_USAGE : settle(&c, limits);
}
