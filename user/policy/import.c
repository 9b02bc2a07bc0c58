/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells formats apart, has them read, and prints what was read as a policy; see import.h. */
#include "import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import_formats.h"
#include "../base/cleanup.h"

static const struct format_row {
	const char *word, *title;
	void (*read)(struct import *im, const struct yaml_node *root);
} rows[IMPORT_FORMATS] = {
	[IMPORT_TASK] = {"task", "an Agentfile or a task", import_read_task},
	[IMPORT_SANDBOX_RUNTIME] = {"sandbox-runtime", "settings of sandbox-runtime",
		import_read_settings},
	[IMPORT_CLAUDE] = {"claude-code", "settings of Claude Code", import_read_settings},
};

const char *import_word(enum import_format format)
{
	return rows[format].word;
}

const char *import_title(enum import_format format)
{
	return rows[format].title;
}

enum import_format import_find(const char *word)
{
	for (int i = IMPORT_NONE + 1; i < IMPORT_FORMATS; i++)
		if (!strcmp(rows[i].word, word))
			return (enum import_format)i;
	return strcmp(word, "agentfile") ? IMPORT_NONE : IMPORT_TASK;
}

/* --- telling formats apart */

/* The length of a Markdown file's front matter, the first `---` line included; the whole text where
 * there is none. */
static size_t front_matter_len(const char *text, size_t len)
{
	const char *at = text, *end = text + len;

	if (len < 4 || memcmp(text, "---", 3) != 0 || (text[3] != '\n' && text[3] != '\r'))
		return len;
	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		if (end - at >= 3 && !memcmp(at, "---", 3) &&
			(end - at == 3 || at[3] == '\n' || at[3] == '\r'))
			return (size_t)(at - text);
	}
	return len;
}

static bool has_task_key(const struct yaml_node *map)
{
	static const char *const keys[] = {
		"network_mode", "allowed_hosts", "blocked_urls", "blocked_hosts"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (import_peek(map, keys[i]))
			return true;
	return false;
}

static bool has_settings_key(const struct yaml_node *network)
{
	return import_peek(network, "allowedDomains") || import_peek(network, "deniedDomains") ||
		import_peek(network, "allowUnixSockets") ||
		import_peek(network, "allowLocalBinding") ||
		import_peek(network, "httpProxyPort") || import_peek(network, "socksProxyPort");
}

static bool is_claude(const struct yaml_node *root)
{
	const struct yaml_node *sandbox = import_peek(root, "sandbox");
	const struct yaml_node *permissions = import_peek(root, "permissions");

	return (permissions && permissions->kind == YAML_MAP &&
		       (import_peek(permissions, "allow") || import_peek(permissions, "deny") ||
			       import_peek(permissions, "ask"))) ||
		has_settings_key(import_peek(sandbox, "network")) ||
		import_peek(sandbox, "autoAllowBashIfSandboxed") ||
		import_peek(sandbox, "excludedCommands") ||
		(import_peek(sandbox, "enabled") && !import_peek(sandbox, "network_mode"));
}

static bool is_task(const struct yaml_node *root)
{
	const struct yaml_node *sandbox = import_peek(root, "sandbox");

	if (import_peek(root, "rules") || import_peek(root, "default") ||
		import_peek(root, "secrets"))
		return false; /* one of ours with a key too many */
	return has_task_key(sandbox) || has_task_key(import_peek(sandbox, "network")) ||
		has_task_key(import_peek(root, "environment")) ||
		has_task_key(import_peek(root, "agent")) || (sandbox && sandbox->kind == YAML_MAP);
}

static enum import_format detect_map(const struct yaml_node *root)
{
	if (has_settings_key(import_peek(root, "network")))
		return IMPORT_SANDBOX_RUNTIME;
	if (is_claude(root))
		return IMPORT_CLAUDE;
	return is_task(root) ? IMPORT_TASK : IMPORT_NONE;
}

enum import_format import_detect(const char *text, size_t len_bytes)
{
	enum import_format format = IMPORT_NONE;
	struct yaml_node *root = NULL;
	struct err_list errs;
	struct arena arena;

	err_init(&errs, NULL);
	arena_init(&arena);
	if (yaml_parse(text, front_matter_len(text, len_bytes), &arena, &errs, &root) == 0 &&
		root && root->kind == YAML_MAP)
		format = detect_map(root);
	arena_done(&arena);
	return format;
}

/* --- reading */

static void init(struct import *im, const char *text, size_t len, struct err_list *errs)
{
	memset(im, 0, sizeof(*im));
	arena_init(&im->arena);
	buf_init(&im->rules);
	buf_init(&im->notes);
	buf_init(&im->privates);
	im->text = text;
	im->len = len;
	im->errs = errs;
}

void import_done(struct import *im)
{
	buf_done(&im->rules);
	buf_done(&im->notes);
	buf_done(&im->privates);
	arena_done(&im->arena);
}

static int compare_notes(const void *a, const void *b)
{
	const struct import_note *x = a, *y = b;

	return x->line != y->line ? (x->line < y->line ? -1 : 1) : strcmp(x->text, y->text);
}

int import_read(const char *text, size_t len_bytes, enum import_format from, struct err_list *errs,
	struct import *ret)
{
	struct yaml_node *root = NULL;
	int r;

	init(ret, text, len_bytes, errs);
	ret->format = from == IMPORT_NONE ? import_detect(text, len_bytes) : from;
	if (ret->format == IMPORT_NONE) {
		err_add(errs, 0, 0, "name the format with --from",
			"this is none of the formats that can be imported");
		return -EINVAL;
	}
	r = yaml_parse(text, front_matter_len(text, len_bytes), &ret->arena, errs, &root);
	if (r < 0)
		return r;
	if (!root || root->kind != YAML_MAP) {
		err_add(errs, 1, 1, NULL, "%s must be a map of keys", rows[ret->format].title);
		return -EINVAL;
	}
	rows[ret->format].read(ret, root);
	if (ret->arena.is_failed || ret->rules.is_failed || ret->notes.is_failed ||
		ret->privates.is_failed)
		return -ENOMEM;
	if (ret->notes.len)
		qsort(ret->notes.data, DRAFT_COUNT(ret->notes, struct import_note),
			sizeof(struct import_note), compare_notes);
	return errs->n_errors ? -EINVAL : 0;
}

/* --- printing */

/* What a YAML reader takes for nothing but text, also between brackets. */
static bool is_plain_word(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char others[] = "0123456789.-_/:%~+=";

	if (!strchr(letters, s[0]) && !strchr("0123456789.", s[0]))
		return false;
	for (size_t i = 0; s[i]; i++)
		if (!strchr(letters, s[i]) && !strchr(others, s[i]) &&
			!(s[i] == '*' && i && s[i + 1] != ' ') && !(s[i] == ' ' && s[i - 1] != ':'))
			return false;
	return s[strlen(s) - 1] != ':' && s[strlen(s) - 1] != ' ';
}

static void print_word(struct buf *b, const char *s)
{
	if (is_plain_word(s))
		buf_add_str(b, s);
	else
		buf_add_json(b, s, strlen(s), strlen(s));
}

/* A comment ends where its line ends, so whatever is no plain ASCII goes as escapes. */
static void print_comment(struct buf *b, const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (s[i] < ' ' || s[i] > '~') {
			buf_add_json(b, s, len, len);
			return;
		}
	buf_add(b, s, len);
}

static void print_rule(struct buf *b, const struct import_rule *rule)
{
	buf_printf(b, "  # line %u: ", rule->line);
	print_comment(b, rule->text);
	buf_printf(b, "\n  - %s: ", rule->is_deny ? "deny" : "allow");
	if (rule->n_targets > 1)
		buf_add_char(b, '[');
	for (size_t i = 0; i < rule->n_targets; i++) {
		if (i)
			buf_add_str(b, ", ");
		print_word(b, rule->targets[i]);
	}
	buf_add_str(b, rule->n_targets > 1 ? "]\n" : "\n");
}

int import_print(const struct import *im, const char *file, struct buf *ret)
{
	size_t n_rules = im->rules.len / sizeof(struct import_rule);
	size_t n_privates = im->privates.len / sizeof(const char *);

	buf_add_str(ret, "# From ");
	print_comment(ret, file);
	buf_printf(ret, ", %s.\nversion: 1\n", rows[im->format].title);
	if (im->is_default_allow)
		buf_add_str(ret, "default: allow\n");
	for (size_t i = 0; i < n_privates; i++) {
		buf_add_str(ret, i ? ", " : "private: [");
		print_word(ret, *DRAFT_AT(im->privates, const char *, i));
	}
	buf_add_str(ret, n_privates ? "]\n" : "");
	buf_add_str(ret, n_rules ? "rules:\n" : "rules: []\n");
	for (size_t i = 0; i < n_rules; i++)
		print_rule(ret, DRAFT_AT(im->rules, struct import_rule, i));
	return ret->is_failed ? -ENOMEM : 0;
}

/* --- running it as it is */

void import_place(const struct import *im, struct draft *d)
{
	size_t n = DRAFT_COUNT(d->rules, struct draft_rule);

	for (size_t i = 0; i < n && i < DRAFT_COUNT(im->rules, struct import_rule); i++) {
		const struct import_rule *from = DRAFT_AT(im->rules, struct import_rule, i);
		struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, i);
		const char *text = arena_copy(&d->arena, from->text, strlen(from->text));

		rule->line = from->line;
		rule->column = from->column;
		rule->text = text ? text : "";
		for (uint32_t k = 0; k < rule->n_patterns; k++) {
			struct pattern *p =
				DRAFT_AT(d->patterns, struct pattern, rule->first_pattern + k);

			p->line = from->line;
			p->column = from->column;
		}
	}
}
