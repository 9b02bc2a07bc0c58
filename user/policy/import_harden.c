/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * harden-runner's `allowed-endpoints`: HOST[:PORT] words, port 443 unless written, `*.` for names
 * at any depth; in a workflow's steps, under the bare key, or as a plain list.
 */
#include "import_formats.h"

#include <string.h>

struct harden {
	unsigned int n_steps;
};

static const char key[] = "allowed-endpoints";

/* `${{ ... }}` may hold blanks: *is_inside from its first word to its last. */
static bool is_expression(struct import *im, const struct yaml_node *word, bool *is_inside)
{
	const char *open = strstr(word->text, "${{");
	bool was_inside = *is_inside;

	if (open)
		import_note(
			im, word->line, true, "an expression is not known here, and stays closed");
	*is_inside = (open || was_inside) && !strstr(word->text, "}}");
	return open || was_inside;
}

static void take_endpoint(struct import *im, const struct yaml_node *word, void *arg)
{
	struct import_host host;
	const char *text;

	if (is_expression(im, word, arg))
		return;
	if (import_has_odd_star(word->text)) {
		import_note(im, word->line, true,
			"`%s`: a star can only stand for whole names here, so it stays closed",
			word->text);
		return;
	}
	if (!import_host(im, word, word->text, word->len, &host))
		return;
	if (host.kind == IMPORT_HOST_DOT || host.kind == IMPORT_HOST_EVERY) {
		import_fail(im, word, "write host:port or *.host:port",
			"`%.64s` is no entry of allowed-endpoints", word->text);
		return;
	}
	if (host.kind == IMPORT_HOST_ADDR)
		import_open_range(im, word->line, host.name);
	text = import_printf(im, "%s%s:%u", host.kind == IMPORT_HOST_STAR ? "*." : "", host.name,
		host.port ? (unsigned int)host.port : 443u);
	import_target(im, import_rule(im, false, key, word), word, text);
}

/* The keys beside allowed-endpoints; map is `with` of a step, or the root of a bare file. */
static void read_with(struct import *im, const struct yaml_node *map)
{
	const struct yaml_node *policy = import_scalar(im, map, "egress-policy");
	const struct yaml_node *list = import_key(im, map, key);
	const struct yaml_node *stored = import_key(im, map, "policy");
	bool is_inside = false;

	if (policy && !strcmp(policy->text, "audit"))
		import_note(im, policy->line, false,
			"`audit` refuses nothing there: here the list is enforced");
	else if (policy && strcmp(policy->text, "block") != 0)
		import_note(im, policy->line, true, "egress-policy `%s` is read as `block`",
			policy->text);
	if (stored && !stored->is_null)
		import_note(im, stored->line, true,
			"the stored policy is not known here: what it allows stays closed");
	if (!list || list->is_null)
		return;
	if (list->kind == YAML_SCALAR)
		import_each_word(im, list, take_endpoint, &is_inside);
	else
		import_fail(im, list, "write `allowed-endpoints: >` and a line for each",
			"allowed-endpoints must be one text");
}

static bool is_harden(const struct yaml_node *step)
{
	const struct yaml_node *uses = import_peek(step, "uses");

	return uses && uses->kind == YAML_SCALAR &&
		!strncmp(uses->text, "step-security/harden-runner", 27);
}

static void read_steps(struct import *im, const struct yaml_node *job, struct harden *h)
{
	const struct yaml_node *steps = import_peek(job, "steps");

	if (!steps || steps->kind != YAML_LIST)
		return;
	for (const struct yaml_node *step = steps->first; step; step = step->next) {
		const struct yaml_node *with = import_peek(step, "with");

		if (!is_harden(step))
			continue;
		if (h->n_steps++)
			import_note(im, step->line, true,
				"step %u: its list is joined to the others; import one job at a "
				"time to keep them apart",
				h->n_steps);
		if (with && with->kind == YAML_MAP)
			read_with(im, with);
	}
}

static void read_list(struct import *im)
{
	struct import_words words;
	struct yaml_node word;
	bool is_inside = false;

	import_words_init(im, &words);
	while (import_next_word(im, &words, &word))
		take_endpoint(im, &word, &is_inside);
}

void import_read_harden(struct import *im, const struct yaml_node *root)
{
	const struct yaml_node *jobs = import_peek(root, "jobs");
	struct harden h = {0};

	if (!root) {
		read_list(im);
		return;
	}
	for (const struct yaml_node *job = jobs && jobs->kind == YAML_MAP ? jobs->first : NULL; job;
		job = job->next)
		read_steps(im, job, &h);
	read_steps(im, import_peek(root, "runs"), &h); /* of an action */
	if (import_peek(root, key))
		read_with(im, root);
	else if (!h.n_steps)
		import_fail(im, root, "name its file", "no step uses step-security/harden-runner");
}
