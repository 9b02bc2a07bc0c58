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
	bool is_text; /* or plain text: command lines, lists */
	void (*read)(struct import *im, const struct yaml_node *root);
} rows[IMPORT_FORMATS] = {
	[IMPORT_TASK] = {"task", "an Agentfile or a task", false, import_read_task},
	[IMPORT_SANDBOX_RUNTIME] = {"sandbox-runtime", "settings of sandbox-runtime", false,
		import_read_settings},
	[IMPORT_CLAUDE] = {"claude-code", "settings of Claude Code", false, import_read_settings},
	[IMPORT_HARDEN_RUNNER] = {"harden-runner", "endpoints of harden-runner", true,
		import_read_harden},
	[IMPORT_OPENSHELL] = {"openshell", "a policy of OpenShell", false, import_read_openshell},
	[IMPORT_GH_AW] = {"gh-aw", "a workflow or options of gh-aw", true, import_read_gh_aw},
	[IMPORT_DOCKER] = {"docker", "network rules of Docker's sandboxes", true,
		import_read_docker},
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

/* gh-aw's front matter, or awf's configuration. */
static bool is_gh_aw(const struct yaml_node *root)
{
	const struct yaml_node *network = import_peek(root, "network");

	return import_peek(network, "allowDomains") || import_peek(network, "blockDomains") ||
		import_peek(network, "allowed") || import_peek(network, "blocked") ||
		(network && (import_peek(root, "engine") || import_peek(root, "safe-outputs")));
}

static bool has_harden_step(const struct yaml_node *job)
{
	const struct yaml_node *steps = import_peek(job, "steps");

	for (const struct yaml_node *step = steps && steps->kind == YAML_LIST ? steps->first : NULL;
		step; step = step->next) {
		const struct yaml_node *uses = import_peek(step, "uses");

		if (uses && uses->kind == YAML_SCALAR && strstr(uses->text, "harden-runner"))
			return true;
	}
	return false;
}

static bool is_harden(const struct yaml_node *root)
{
	const struct yaml_node *jobs = import_peek(root, "jobs");

	if (import_peek(root, "allowed-endpoints") || has_harden_step(import_peek(root, "runs")))
		return true;
	for (const struct yaml_node *job = jobs && jobs->kind == YAML_MAP ? jobs->first : NULL; job;
		job = job->next)
		if (has_harden_step(job))
			return true;
	return false;
}

static bool is_docker(const struct yaml_node *root)
{
	const struct yaml_node *network = import_peek(root, "network");
	const struct yaml_node *kit = import_peek(import_peek(root, "permissions"), "network");
	static const char *const keys[] = {"allowHosts", "allowedHosts", "blockHosts",
		"blockedHosts", "blockCIDRs", "blockedCIDRs", "allow-host", "block-host"};

	if (import_peek(root, "kind") &&
		(import_peek(root, "schemaVersion") || import_peek(network, "allowedDomains")))
		return true;
	if (import_peek(kit, "allow") || import_peek(kit, "deny"))
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (import_peek(root, keys[i]) || import_peek(network, keys[i]))
			return true;
	return false;
}

static enum import_format detect_map(const struct yaml_node *root)
{
	if (import_peek(root, "network_policies"))
		return IMPORT_OPENSHELL;
	if (is_harden(root))
		return IMPORT_HARDEN_RUNNER;
	if (is_docker(root))
		return IMPORT_DOCKER;
	if (has_settings_key(import_peek(root, "network")))
		return IMPORT_SANDBOX_RUNTIME;
	if (is_claude(root))
		return IMPORT_CLAUDE;
	if (is_gh_aw(root))
		return IMPORT_GH_AW;
	return is_task(root) ? IMPORT_TASK : IMPORT_NONE;
}

/* HOST:PORT. */
static bool is_endpoint(const char *word)
{
	const char *colon = strrchr(word, ':');

	return colon && colon > word && colon[1] && !strpbrk(word, "/\"'{}[],") &&
		strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

static enum import_format detect_words(const char *text, size_t len, struct arena *arena)
{
	struct import scratch = {.text = text, .len = len, .arena = *arena};
	bool is_list = false, is_other = false, is_sbx = false;
	enum import_format format = IMPORT_NONE;
	struct import_words words;
	struct yaml_node word;

	import_words_init(&scratch, &words);
	while (format == IMPORT_NONE && import_next_word(&scratch, &words, &word)) {
		if (!strncmp(word.text, "--allow-domains", 15) ||
			!strncmp(word.text, "--block-domains", 15))
			format = IMPORT_GH_AW;
		else if (!strncmp(word.text, "--allow-host", 12) ||
			!strncmp(word.text, "--block-host", 12) ||
			!strncmp(word.text, "--block-cidr", 12) ||
			!strncmp(word.text, "--bypass-host", 13) ||
			(is_sbx && !strcmp(word.text, "policy")))
			format = IMPORT_DOCKER;
		is_sbx = !strcmp(word.text, "sbx");
		is_list = is_list || is_endpoint(word.text);
		is_other = is_other || !is_endpoint(word.text);
	}
	*arena = scratch.arena;
	if (format == IMPORT_NONE && is_list && !is_other)
		format = IMPORT_HARDEN_RUNNER;
	return format;
}

enum import_format import_detect(const char *text, size_t len_bytes)
{
	enum import_format format = IMPORT_NONE;
	struct yaml_node *root = NULL;
	struct err_list errs;
	struct arena arena;
	int r;

	err_init(&errs, NULL);
	arena_init(&arena);
	r = yaml_parse(text, front_matter_len(text, len_bytes), &arena, &errs, &root);
	if (!r && root && root->kind == YAML_MAP)
		format = detect_map(root);
	else
		format = detect_words(text, len_bytes, &arena);
	arena_done(&arena);
	return format;
}

/* A task.toml. */
bool import_is_unread(const char *text, size_t len_bytes, struct err_list *errs)
{
	const char *at = text, *end = text + len_bytes;
	unsigned int line = 1;

	if (!memmem(text, len_bytes, "network_mode", 12))
		return false;
	for (; at && at < end; line++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (*at == '[' && memchr(at, ']', (size_t)((next ? next : end) - at)) &&
			!memchr(at, ',', (size_t)((next ? next : end) - at))) {
			err_add(errs, line, 1, "write the same keys in YAML",
				"this is TOML, which is not read");
			return true;
		}
		at = next ? next + 1 : NULL;
	}
	return false;
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

/* NULL in *ret for plain text. */
static int read_root(struct import *im, struct yaml_node **ret)
{
	const struct format_row *row = &rows[im->format];
	struct yaml_node *root = NULL;
	struct err_list errs;
	int r;

	err_init(&errs, im->errs->file);
	r = yaml_parse(im->text, front_matter_len(im->text, im->len), &im->arena, &errs, &root);
	if (r == -ENOMEM)
		return r;
	*ret = !r && root && root->kind == YAML_MAP ? root : NULL;
	if (*ret || row->is_text)
		return 0;
	if (!r)
		err_add(&errs, 1, 1, NULL, "%s must be a map of keys", row->title);
	*im->errs = errs;
	return -EINVAL;
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
	if (ret->format == IMPORT_NONE && import_is_unread(text, len_bytes, errs))
		return -EINVAL;
	if (ret->format == IMPORT_NONE) {
		err_add(errs, 0, 0, "name the format with --from",
			"this is none of the formats that can be imported");
		return -EINVAL;
	}
	r = read_root(ret, &root);
	if (r < 0)
		return r;
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
	if (rule->ignores_case)
		buf_add_str(b, "    ignore_case: true\n");
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
