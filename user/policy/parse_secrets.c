/* SPDX-License-Identifier: GPL-2.0-only */
/* The value of `secrets`: one map a secret, its keys a table; see parse.h. */
#include <errno.h>
#include <string.h>

#include "parse.h"

#define MAX_ARGS 64 /* words of a command */

struct secret_parts {
	struct draft_secret secret;
	const struct yaml_node *hosts;
	const struct yaml_node *aws_only; /* a key that means nothing without `sign` */
	size_t n_sources;
};

static bool is_variable_name(const char *s)
{
	if (!*s || (*s >= '0' && *s <= '9'))
		return false;
	for (; *s; s++)
		if (!((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') ||
			    (*s >= '0' && *s <= '9') || *s == '_'))
			return false;
	return true;
}

/* --- sources */

static void add_arg(struct reading *r, struct secret_parts *s, const char *text)
{
	buf_add(&r->draft->secret_args, &text, sizeof(text));
	s->secret.n_args++;
}

static void read_env(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct secret_parts *s = arg;

	s->n_sources++;
	s->secret.source = POLICY_SOURCE_ENV;
	if (!read_is_text(r, v, "env"))
		return;
	if (strpbrk(v->text, "= \t\n"))
		READ_FAIL(r, v, "write the variable's name alone",
			"`%.64s` is not the name of a variable", v->text);
	add_arg(r, s, v->text);
}

static void read_file(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct secret_parts *s = arg;

	s->n_sources++;
	s->secret.source = POLICY_SOURCE_FILE;
	if (!read_is_text(r, v, "file"))
		return;
	if (v->text[0] != '/')
		READ_FAIL(r, v, "write the path from / on", "`%.64s` is a relative path", v->text);
	add_arg(r, s, v->text);
}

static void read_command(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct secret_parts *s = arg;

	s->n_sources++;
	s->secret.source = POLICY_SOURCE_COMMAND;
	if (!read_is_list(r, v, "command", MAX_ARGS))
		return;
	if (!v->n)
		READ_FAIL(r, v, "write command: [pass, show, token]", "command is empty");
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		if (e == v->first ? !read_is_text(r, e, "the command") : e->kind != YAML_SCALAR) {
			if (e != v->first)
				READ_FAIL(r, e, NULL, "a word of command must be a single value");
			continue;
		}
		if (e == v->first && e->text[0] != '/')
			READ_FAIL(r, e, "write the path from / on: /usr/bin/pass",
				"`%.64s` would be looked for in PATH", e->text);
		add_arg(r, s, e->text);
	}
}

/* --- where it goes */

static void read_secret_host(struct reading *r, const struct yaml_node *e)
{
	struct pattern_error why;
	struct pattern p = {.text = e->text, .line = e->line, .column = e->column};

	if (!read_is_text(r, e, "a host under for"))
		return;
	if (pattern_parse_host(&r->draft->arena, e->text, e->len, &p, &why) == -EINVAL)
		READ_FAIL(r, e, why.mend, "%s", why.what);
	else
		buf_add(&r->draft->secret_hosts, &p, sizeof(p));
}

static void read_secret_for(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct secret_parts *s = arg;

	s->hosts = v;
	if (!read_is_list(r, v, "for", DRAFT_MAX_ENTRIES))
		return;
	if (!v->n)
		READ_FAIL(r, v, "name the hosts that may get it", "for is empty");
	for (const struct yaml_node *e = v->first; e; e = e->next)
		read_secret_host(r, e);
}

static void read_secret_in(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"headers", "query", "body", NULL};
	struct secret_parts *s = arg;

	if (!read_is_list(r, v, "in", 3))
		return;
	if (!v->n)
		READ_FAIL(r, v, "leave the key out for headers alone", "in is empty");
	for (const struct yaml_node *e = v->first; e; e = e->next) {
		int i = read_word(r, e, "in", words);

		if (i >= 0)
			s->secret.in |= (uint8_t)(1u << i);
	}
}

static void read_sign(struct reading *r, const struct yaml_node *v, void *arg)
{
	static const char *const words[] = {"aws-v4", NULL};
	struct secret_parts *s = arg;

	s->secret.is_aws = read_word(r, v, "sign", words) == 0;
}

static void read_key_id(struct reading *r, const struct yaml_node *v, void *arg)
{
	struct secret_parts *s = arg;

	s->aws_only = v;
	if (!read_is_text(r, v, "key_id"))
		return;
	if (!is_variable_name(v->text))
		READ_FAIL(r, v, "write the name of the secret or variable that holds it",
			"`%.64s` is not the name of a variable", v->text);
	s->secret.key_id = v->text;
}

static void check_secret(
	struct reading *r, const struct yaml_node *key, const struct secret_parts *s)
{
	const char *name = s->secret.name;

	if (s->n_sources != 1)
		READ_FAIL(r, key,
			"write { env: NAME, for: [host] }, { file: /path, for: [host] } or "
			"{ command: [/path, word], for: [host] }",
			"the secret `%.64s` has %s", name,
			s->n_sources ? "more than one of env, file and command"
				     : "neither env nor file nor command");
	if (!s->hosts)
		READ_FAIL(r, key, "add for: [host], the hosts that may get it",
			"the secret `%.64s` has no `for`", name);
	if (s->aws_only && !s->secret.is_aws)
		READ_FAIL(r, s->aws_only, "add sign: aws-v4, or take it away",
			"key_id says nothing of a secret that does not sign");
}

static void read_secret(struct reading *r, const struct yaml_node *v)
{
	static const struct read_key keys[] = {
		{"env", read_env},
		{"file", read_file},
		{"command", read_command},
		{"for", read_secret_for},
		{"in", read_secret_in},
		{"sign", read_sign},
		{"key_id", read_key_id},
	};
	struct draft *d = r->draft;
	struct secret_parts s = {
		.secret = {.name = v->key->text,
			.line = v->key->line,
			.column = v->key->column,
			.first_arg = (uint32_t)DRAFT_COUNT(d->secret_args, const char *),
			.first_host = (uint32_t)DRAFT_COUNT(d->secret_hosts, struct pattern)}};

	if (!is_variable_name(s.secret.name))
		READ_FAIL(r, v->key, "letters, digits and `_`, not beginning with a digit",
			"`%.64s` cannot name an environment variable", s.secret.name);
	read_map(r, v, "a secret", keys, sizeof(keys) / sizeof(keys[0]), &s);
	if (v->kind != YAML_MAP)
		return;
	check_secret(r, v->key, &s);
	if (!s.secret.in)
		s.secret.in = POLICY_SECRET_HEADERS;
	s.secret.n_hosts =
		(uint32_t)DRAFT_COUNT(d->secret_hosts, struct pattern) - s.secret.first_host;
	buf_add(&d->secrets, &s.secret, sizeof(s.secret));
}

void parse_secrets(struct reading *r, const struct yaml_node *value, void *arg)
{
	(void)arg;
	if (!read_is_named_map(r, value, "secrets", POLICY_MAX_SECRETS))
		return;
	for (const struct yaml_node *v = value->first; v; v = v->next)
		read_secret(r, v);
}
