/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of rules: options, targets, and what must agree among them; see parse.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "opens.h"
#include "parse.h"

#define MAX_TEXT_BYTES 240
#define MAX_LIST_BYTES (512u << 20)

struct rule_parts {
	struct draft_rule rule;
	const struct yaml_node *allow, *deny, *ignore_case;
};

/* --- targets */

static void add_pattern(struct reading *r, struct pattern *p, const struct yaml_node *node)
{
	p->rule = (uint32_t)DRAFT_COUNT(r->draft->rules, struct draft_rule);
	p->line = node->line;
	p->column = node->column;
	buf_add(&r->draft->patterns, p, sizeof(*p));
}

static void parse_target(struct reading *r, const struct yaml_node *v)
{
	struct pattern_error why;
	struct pattern p = {.text = v->text};

	if (!read_is_text(r, v, "a target"))
		return;
	if (pattern_parse(&r->draft->arena, v->text, v->len, &p, &why) == -EINVAL)
		err_add(r->errs, v->line, v->column + !v->is_plain + (unsigned int)why.at, why.mend,
			"%s", why.what);
	else
		add_pattern(r, &p, v);
}

/* Only regular files: a pipe or device would hang the start or never end. */
static int read_list_file(const char *path, char **ret_data, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	return file_read_fd(fd, MAX_LIST_BYTES, ret_data, ret_len);
}

static void read_list_name(struct reading *r, const struct yaml_node *v, void *arg)
{
	const struct yaml_node **name = arg;

	if (read_is_text(r, v, "list"))
		*name = v;
}

static void parse_list(struct reading *r, const struct yaml_node *v)
{
	static const struct read_key keys[] = {{"list", read_list_name}};
	const struct yaml_node *name = NULL;
	struct pattern p = {.kind = PATTERN_LIST};
	struct draft_list list = {
		.rule = (uint32_t)DRAFT_COUNT(r->draft->rules, struct draft_rule)};
	char path[PATH_MAX];
	int n, error;

	read_map(r, v, "a target", keys, 1, &name);
	if (!name) {
		if (!v->n)
			READ_FAIL(r, v, "write {list: FILE}", "a target without a file");
		return;
	}
	if (DRAFT_COUNT(r->draft->lists, struct draft_list) == DRAFT_MAX_LISTS) {
		READ_FAIL(r, v, "join their files", "more than %d lists", DRAFT_MAX_LISTS);
		return;
	}
	n = snprintf(path, sizeof(path), "%s%s%s", r->dir && name->text[0] != '/' ? r->dir : "",
		r->dir && name->text[0] != '/' ? "/" : "", name->text);
	error = n < (int)sizeof(path) ? read_list_file(path, &list.data, &list.len) : -ENAMETOOLONG;
	if (error < 0) {
		READ_FAIL(r, name, "the path is relative to the policy", "the list `%.128s`: %s",
			name->text, strerror(-error));
		return;
	}
	list.path = p.text = name->text;
	list.line = name->line;
	list.column = name->column;
	p.list = (uint32_t)DRAFT_COUNT(r->draft->lists, struct draft_list);
	buf_add(&r->draft->lists, &list, sizeof(list));
	if (r->draft->lists.is_failed)
		free(list.data);
	else
		add_pattern(r, &p, v);
}

static void parse_targets(struct reading *r, const struct yaml_node *v)
{
	if (v->kind == YAML_MAP)
		parse_list(r, v);
	else if (v->kind == YAML_SCALAR)
		parse_target(r, v);
	else
		for (const struct yaml_node *e = v->first; e; e = e->next)
			if (e->kind == YAML_MAP)
				parse_list(r, e);
			else
				parse_target(r, e);
	if (v->kind == YAML_LIST && !v->n)
		READ_FAIL(r, v, "name a target, or take the rule away", "a rule without a target");
}

/* --- options */

static void read_allow(struct reading *r, const struct yaml_node *v, void *arg)
{
	(void)r;
	((struct rule_parts *)arg)->allow = v;
}

static void read_deny(struct reading *r, const struct yaml_node *v, void *arg)
{
	(void)r;
	((struct rule_parts *)arg)->deny = v;
}

static void read_transport(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {
		[POLICY_TRANSPORT_DIRECT] = "direct",
		[POLICY_TRANSPORT_UPSTREAM] = "upstream",
		[POLICY_TRANSPORT_KERNEL] = "kernel",
		NULL,
	};
	struct draft_rule *rule = &((struct rule_parts *)arg)->rule;
	int i = read_word(r, v, "transport", words);

	rule->has_transport = true;
	if (i >= 0)
		rule->transport = (uint8_t)i;
}

static void read_via(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct draft_rule *rule = &((struct rule_parts *)arg)->rule;

	if (!read_is_text(r, v, "via"))
		return;
	rule->via = v->text;
	rule->via_line = v->line;
	rule->via_column = v->column;
}

static void read_inspect(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct draft_rule *rule = &((struct rule_parts *)arg)->rule;

	rule->has_inspect = true;
	read_bool(r, v, "inspect", &rule->is_inspect);
}

static void read_rule_limits(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct draft_rule *rule = &((struct rule_parts *)arg)->rule;

	rule->has_limits = true;
	parse_limits(r, v, &rule->limits);
}

static void read_tools(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct draft_rule *rule = arg;

	if (!read_is_list(r, v, "tools", DRAFT_MAX_ENTRIES))
		return;
	rule->has_mcp = true;
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		struct draft_tool tool = {.text = e->text, .len = e->len};

		if (!read_is_text(r, e, "a tool"))
			continue;
		if (e->len > DRAFT_MAX_TOOL_BYTES)
			READ_FAIL(r, e, "write the name or a part of it and `*`",
				"a tool's name is longer than %d bytes", DRAFT_MAX_TOOL_BYTES);
		buf_add(&r->draft->tools, &tool, sizeof(tool));
		rule->n_tools++;
	}
}

static void read_mcp(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const struct read_key keys[] = {{"tools", read_tools}};
	struct draft_rule *rule = &((struct rule_parts *)arg)->rule;
	size_t n_before = r->errs->n_errors;

	rule->first_tool = (uint32_t)DRAFT_COUNT(r->draft->tools, struct draft_tool);
	read_map(r, v, "mcp", keys, 1, rule);
	if (!rule->has_mcp && r->errs->n_errors == n_before)
		READ_FAIL(r, v, "write mcp: {tools: [name, \"read_*\"]}", "`mcp` without `tools`");
	rule->has_mcp = true;
}

static void read_hosted_tools(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"deny", "allow", NULL};
	struct draft_rule *rule = &((struct rule_parts *)arg)->rule;

	rule->denies_hosted = read_word(r, v, "hosted_tools", words) != 1;
	rule->has_hosted = true;
}

static void read_ignore_case(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct rule_parts *parts = arg;

	if (read_bool(r, v, "ignore_case", &parts->rule.is_caseless) && parts->rule.is_caseless)
		parts->ignore_case = v->key;
}

static void read_note(struct reading *r, const struct yaml_node *v, void *arg)
{
	if (read_is_text(r, v, "note"))
		((struct rule_parts *)arg)->rule.note = v->text;
}

/* --- the rule as text */

#define MAX_TEXT_DEPTH 4

static void add_value_text(struct buf *b, const struct yaml_node *v, int depth)
{
	bool is_map = v->kind == YAML_MAP;

	if (v->kind == YAML_SCALAR) {
		buf_add(b, v->text, v->len);
		return;
	}
	buf_add_char(b, is_map ? '{' : '[');
	for (const struct yaml_node *e = v->first; e && b->len <= MAX_TEXT_BYTES; e = e->next) {
		buf_add_str(b, e == v->first ? "" : ", ");
		if (is_map)
			buf_printf(b, "%s: ", e->key->text);
		if (depth < MAX_TEXT_DEPTH)
			add_value_text(b, e, depth + 1);
	}
	buf_add_char(b, is_map ? '}' : ']');
}

/* What the writer wrote, on one line: for explain, refusals and the audit. */
static const char *rule_text(struct reading *r, const struct yaml_node *node)
{
	struct buf b;
	const char *text;

	buf_init(&b);
	for (const struct yaml_node *v = node->first; v; v = v->next) {
		if (!strcmp(v->key->text, "note"))
			continue;
		buf_printf(&b, "%s%s: ", b.len ? ", " : "", v->key->text);
		add_value_text(&b, v, 0);
	}
	if (b.len > MAX_TEXT_BYTES) {
		size_t cut = MAX_TEXT_BYTES;

		while (cut && ((unsigned char)b.data[cut] & 0xc0) == 0x80)
			cut--;
		b.len = cut;
		buf_add_str(&b, "\xe2\x80\xa6");
	}
	text = b.data ? arena_copy(&r->draft->arena, b.data, b.len) : "";
	buf_done(&b);
	return text ? text : "";
}

/* --- the whole rule */

static void check_deny(struct reading *r, const struct draft_rule *rule)
{
	if (rule->has_transport || rule->via || rule->has_inspect || rule->has_limits ||
		rule->has_mcp || rule->has_hosted)
		err_add(r->errs, rule->line, rule->column,
			"a deny rule has targets, `ignore_case` and a note, nothing else",
			"a deny rule with `%s`",
			rule->has_transport         ? "transport"
				: rule->via         ? "via"
				: rule->has_inspect ? "inspect"
				: rule->has_limits  ? "limits"
				: rule->has_mcp     ? "mcp"
						    : "hosted_tools");
}

/* What is asked inside a request can only be seen where every request is HTTP. */
static void check_content(struct reading *r, const struct draft_rule *rule, const struct pattern *p)
{
	const char *option = rule->has_mcp ? "mcp" : "hosted_tools";
	bool is_http = p->scheme == PATTERN_HTTPS || p->scheme == PATTERN_HTTP;

	if (!is_http && (p->scheme != PATTERN_NO_SCHEME || p->has_port))
		err_add(r->errs, p->line, p->column, "write https:// before the host",
			"`%s` is for https and http, `%.64s` lets other protocols through", option,
			p->text);
}

static void check_content_rule(struct reading *r, const struct draft_rule *rule)
{
	const char *option = rule->has_mcp ? "mcp" : "hosted_tools";

	if (rule->transport == POLICY_TRANSPORT_KERNEL)
		err_add(r->errs, rule->line, rule->column, "take one of them away",
			"`%s` needs the proxy that `transport: kernel` leaves out", option);
	if (rule->has_inspect && !rule->is_inspect)
		err_add(r->errs, rule->line, rule->column, "take `inspect: false` away",
			"`%s` needs to see inside TLS", option);
	for (uint32_t i = 0; i < rule->n_patterns; i++)
		check_content(r, rule,
			DRAFT_AT(r->draft->patterns, struct pattern, rule->first_pattern + i));
}

static void check_pattern(struct reading *r, const struct draft_rule *rule, const struct pattern *p)
{
	bool is_kernel = rule->transport == POLICY_TRANSPORT_KERNEL;

	if (p->scheme == PATTERN_UDP && !rule->is_deny && !is_kernel)
		err_add(r->errs, p->line, p->column, "add `transport: kernel` to the rule",
			"a udp target needs `transport: kernel`");
	if (is_kernel && pattern_is_conditional(p))
		err_add(r->errs, p->line, p->column, "take `transport: kernel` away",
			"without a proxy nobody sees methods and paths");
}

static void check_rule(struct reading *r, const struct draft_rule *rule)
{
	if (rule->is_deny)
		check_deny(r, rule);
	if (rule->via && !rule->is_deny && rule->transport != POLICY_TRANSPORT_UPSTREAM)
		err_add(r->errs, rule->via_line, rule->via_column,
			"add `transport: upstream` to the rule", "`via` without an upstream");
	if (rule->is_inspect && rule->transport == POLICY_TRANSPORT_KERNEL)
		err_add(r->errs, rule->line, rule->column, "take one of them away",
			"`inspect` needs the proxy that `transport: kernel` leaves out");
	if (!rule->is_deny && (rule->has_mcp || rule->denies_hosted))
		check_content_rule(r, rule);
	for (uint32_t i = 0; i < rule->n_patterns; i++)
		check_pattern(r, rule,
			DRAFT_AT(r->draft->patterns, struct pattern, rule->first_pattern + i));
}

static struct pattern_path fold(struct reading *r, struct pattern_path path)
{
	char *text = arena_copy(&r->draft->arena, path.text ? path.text : "", path.len);

	for (size_t i = 0; text && i < path.len; i++)
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
	return (struct pattern_path){.text = text, .len = text ? path.len : 0};
}

/* Ignoring case where something is allowed would open what nobody wrote. */
static void ignore_case(struct reading *r, const struct rule_parts *parts)
{
	const struct draft_rule *rule = &parts->rule;

	if (!rule->is_caseless)
		return;
	if (!rule->is_deny)
		READ_FAIL(r, parts->ignore_case, "take it away; only denied paths may ignore case",
			"an allow rule with `ignore_case`");
	for (uint32_t i = 0; i < rule->n_patterns; i++) {
		struct pattern *p =
			DRAFT_AT(r->draft->patterns, struct pattern, rule->first_pattern + i);

		if (!p->has_path)
			continue;
		p->is_caseless = true;
		p->full = fold(r, p->full);
		p->plain = fold(r, p->plain);
	}
}

static void parse_rule(struct reading *r, const struct yaml_node *node)
{
	static const struct read_key keys[] = {
		{"allow", read_allow},
		{"deny", read_deny},
		{"transport", read_transport},
		{"via", read_via},
		{"inspect", read_inspect},
		{"limits", read_rule_limits},
		{"mcp", read_mcp},
		{"hosted_tools", read_hosted_tools},
		{"ignore_case", read_ignore_case},
		{"note", read_note},
	};
	struct rule_parts parts = {0};
	struct draft_rule *rule = &parts.rule;

	if (node->kind != YAML_MAP || !node->first) {
		READ_FAIL(
			r, node, "write `- allow: host` or `- deny: host`", "a rule must be a map");
		return;
	}
	rule->line = node->first->key->line;
	rule->column = node->first->key->column;
	rule->first_pattern = (uint32_t)DRAFT_COUNT(r->draft->patterns, struct pattern);
	read_map(r, node, "a rule", keys, sizeof(keys) / sizeof(keys[0]), &parts);
	if (!parts.allow == !parts.deny) {
		err_add(r->errs, rule->line, rule->column,
			parts.allow ? "make two rules of it"
				    : "write `allow: host` or `deny: host`",
			parts.allow ? "a rule with both `allow` and `deny`"
				    : "a rule with neither `allow` nor `deny`");
		return;
	}
	rule->is_deny = parts.deny != NULL;
	parse_targets(r, parts.deny ? parts.deny : parts.allow);
	rule->n_patterns =
		(uint32_t)DRAFT_COUNT(r->draft->patterns, struct pattern) - rule->first_pattern;
	rule->text = rule_text(r, node);
	ignore_case(r, &parts);
	check_rule(r, rule);
	rule->is_inspect |= rule->has_mcp || rule->denies_hosted;
	buf_add(&r->draft->rules, rule, sizeof(*rule));
}

void parse_rules(struct reading *r, const struct yaml_node *value, void *arg)
{
	(void)arg;
	if (!read_is_list(r, value, "rules", NEJ_MAX_RULES))
		return;
	for (const struct yaml_node *v = value->first; v; v = v->next)
		parse_rule(r, v);
}

/* --- what needs the whole policy */

/* How many upstreams precede the one of this name; all of them: there is none. */
static uint32_t find_upstream(const struct draft *d, const char *name)
{
	uint32_t i, n = (uint32_t)DRAFT_COUNT(d->upstreams, struct draft_upstream);

	for (i = 0; i < n; i++)
		if (!strcmp(DRAFT_AT(d->upstreams, struct draft_upstream, i)->name, name))
			break;
	return i;
}

static void settle_via(struct reading *r, struct draft_rule *rule)
{
	size_t n = DRAFT_COUNT(r->draft->upstreams, struct draft_upstream);

	rule->upstream = rule->via ? find_upstream(r->draft, rule->via) : 0;
	if (rule->via && rule->upstream == n)
		err_add(r->errs, rule->via_line, rule->via_column, "name it under `upstream`",
			"`via: %.64s` names no upstream", rule->via);
	else if (!rule->via && !n)
		err_add(r->errs, rule->line, rule->column,
			"add upstream: { name: { url: http://proxy:3128 } }",
			"`transport: upstream` without an upstream");
	else if (!rule->via && n > 1)
		err_add(r->errs, rule->line, rule->column, "add `via: NAME`",
			"`transport: upstream` with several upstreams needs `via`");
}

static bool has_common_address(const struct prefix *a, const struct prefix *b)
{
	return a->bits <= b->bits ? prefix_has(a, &b->addr) : prefix_has(b, &a->addr);
}

static bool has_common_port(const struct opens *a, size_t n_a, const struct opens *b, size_t n_b)
{
	for (size_t i = 0; i < n_a * n_b; i++)
		for (int k = 0; k < OPENS_COUNT; k++) {
			const struct opens_ports *x = &a[i / n_b].ports[k],
						 *y = &b[i % n_b].ports[k];

			if (x->first && y->first && x->first <= y->last && y->first <= x->last)
				return true;
		}
	return false;
}

/* The kernel's table knows no order: a range let straight out may not hold addresses for which an
 * earlier rule says otherwise. */
static void check_kernel_range(struct reading *r, const struct pattern *p, size_t index)
{
	struct opens own[OPENS_MAX], theirs[OPENS_MAX];
	size_t n_own = opens_of(p, false, true, own);

	for (size_t i = 0; i < index; i++) {
		const struct pattern *q = DRAFT_AT(r->draft->patterns, struct pattern, i);
		const struct draft_rule *rule;
		size_t n_theirs;

		if (q->kind != PATTERN_RANGE || !has_common_address(&p->prefix, &q->prefix))
			continue;
		rule = DRAFT_AT(r->draft->rules, struct draft_rule, q->rule);
		if (rule->transport == POLICY_TRANSPORT_KERNEL)
			continue;
		n_theirs = opens_of(q, rule->is_deny, false, theirs);
		if (!has_common_port(own, n_own, theirs, n_theirs))
			continue;
		err_add(r->errs, p->line, p->column,
			"narrow one of them, or leave `transport: kernel` out",
			"`%.64s` with `transport: kernel` overlaps the rule on line %u", p->text,
			rule->line);
		return;
	}
}

void parse_check_rules(struct reading *r)
{
	size_t n_rules = DRAFT_COUNT(r->draft->rules, struct draft_rule);

	for (size_t i = 0; i < n_rules; i++) {
		struct draft_rule *rule = DRAFT_AT(r->draft->rules, struct draft_rule, i);

		if (rule->transport == POLICY_TRANSPORT_UPSTREAM && !rule->is_deny)
			settle_via(r, rule);
		if (rule->transport != POLICY_TRANSPORT_KERNEL)
			continue;
		for (uint32_t k = 0; k < rule->n_patterns; k++) {
			size_t at = rule->first_pattern + k;
			const struct pattern *p = DRAFT_AT(r->draft->patterns, struct pattern, at);

			if (p->kind == PATTERN_RANGE)
				check_kernel_range(r, p, at);
		}
	}
}
