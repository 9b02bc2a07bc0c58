/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one user of libfyaml: its events become a tree; see yaml.h. Read parse.c next for what the
 * tree means.
 */
#include "yaml.h"

#include <errno.h>
#include <string.h>
#include <libfyaml.h>

#include "../base/cleanup.h"

#define MAX_DEPTH 16 /* the language needs five */

DEFINE_CLEANUP(struct fy_parser, fy_parser_destroy);
DEFINE_CLEANUP(struct fy_diag, fy_diag_destroy);

struct level {
	struct yaml_node *node;
	struct yaml_node *last; /* child added last */
	struct yaml_node *key;  /* of a map: a key that waits for its value */
};

struct builder {
	struct arena *arena;
	struct err_list *errs;
	struct yaml_node *root;
	struct level levels[MAX_DEPTH];
	size_t depth;
	size_t n_documents;
};

static void fail(struct builder *b, const struct fy_mark *at, const char *mend, const char *what)
{
	err_add(b->errs, at ? (unsigned int)at->line + 1 : 0, at ? (unsigned int)at->column + 1 : 0,
		mend, "%s", what);
}

static bool is_null_text(const char *s, size_t len)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], s, len))
			return true;
	return false;
}

/* Puts a node where the open map or list expects one. */
static int add_node(struct builder *b, struct yaml_node *node, const struct fy_mark *at)
{
	struct level *top = b->depth ? &b->levels[b->depth - 1] : NULL;

	if (!top) {
		b->root = node;
		return 0;
	}
	if (top->node->kind == YAML_MAP && !top->key) {
		if (node->kind != YAML_SCALAR) {
			fail(b, at, "write a plain word before the colon", "a key is not a word");
			return -EINVAL;
		}
		top->key = node;
		return 0;
	}
	node->key = top->key;
	top->key = NULL;
	if (!node->line) { /* nothing stands there: the place is where it is missed */
		node->line = node->key ? node->key->line : top->node->line;
		node->column = node->key ? node->key->column : top->node->column;
	}
	if (top->last)
		top->last->next = node;
	else
		top->node->first = node;
	top->last = node;
	top->node->n++;
	return 0;
}

static struct yaml_node *new_node(struct builder *b, enum yaml_kind kind, const struct fy_mark *at)
{
	struct yaml_node *node = arena_alloc(b->arena, sizeof(*node));

	if (!node)
		return NULL;
	node->kind = kind;
	node->line = at ? (unsigned int)at->line + 1 : 0;
	node->column = at ? (unsigned int)at->column + 1 : 0;
	return node;
}

static int open_node(struct builder *b, enum yaml_kind kind, const struct fy_mark *at)
{
	struct yaml_node *node = new_node(b, kind, at);
	int r;

	if (!node)
		return -ENOMEM;
	r = add_node(b, node, at);
	if (r < 0)
		return r;
	if (b->depth == MAX_DEPTH) {
		fail(b, at, NULL, "nested too deeply");
		return -EINVAL;
	}
	b->levels[b->depth++] = (struct level){.node = node};
	return 0;
}

static int add_scalar(struct builder *b, struct fy_event *event, const struct fy_mark *at)
{
	struct fy_token *token = event->scalar.value;
	struct yaml_node *node = new_node(b, YAML_SCALAR, at);
	size_t len = 0;
	const char *text = token ? fy_token_get_text(token, &len) : "";

	if (!node)
		return -ENOMEM;
	node->text = arena_copy(b->arena, text ? text : "", text ? len : 0);
	if (!node->text)
		return -ENOMEM;
	node->len = text ? len : 0;
	node->is_plain = !token || fy_token_scalar_style(token) == FYSS_PLAIN;
	/* libfyaml marks what is between the quotes. */
	if (!node->is_plain && node->column > 1)
		node->column--;
	node->is_null = node->is_plain && is_null_text(node->text, node->len);
	if (memchr(node->text, 0, node->len)) { /* from an escape: "\0" */
		fail(b, at, NULL, "a NUL byte");
		return -EINVAL;
	}
	return add_node(b, node, at);
}

static const char anchors_mend[] = "write the value itself";

static int check_plainness(
	struct builder *b, struct fy_token *anchor, struct fy_token *tag, const struct fy_mark *at)
{
	if (!anchor && !tag)
		return 0;
	fail(b, at, anchors_mend, "anchors and tags are no part of the policy language");
	return -EINVAL;
}

static int on_document(struct builder *b, const struct fy_mark *at)
{
	if (b->n_documents++ == 0)
		return 0;
	fail(b, at, "keep one document, without `---`", "a second YAML document");
	return -EINVAL;
}

static int on_event(struct builder *b, struct fy_event *event)
{
	const struct fy_mark *at = fy_event_start_mark(event);
	int r;

	switch (event->type) {
	case FYET_DOCUMENT_START:
		return on_document(b, at);
	case FYET_SCALAR:
		r = check_plainness(b, event->scalar.anchor, event->scalar.tag, at);
		return r < 0 ? r : add_scalar(b, event, at);
	case FYET_MAPPING_START:
		r = check_plainness(b, event->mapping_start.anchor, event->mapping_start.tag, at);
		return r < 0 ? r : open_node(b, YAML_MAP, at);
	case FYET_SEQUENCE_START:
		r = check_plainness(b, event->sequence_start.anchor, event->sequence_start.tag, at);
		return r < 0 ? r : open_node(b, YAML_LIST, at);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		if (b->depth)
			b->depth--;
		return 0;
	case FYET_ALIAS:
		fail(b, at, "a value that begins with `*` stands in quotes: \"*.example.com\"",
			"a `*` without quotes is a YAML alias");
		return -EINVAL;
	default:
		return 0;
	}
}

/* What libfyaml collected, or one line of our own when it said nothing. */
static void add_syntax_errors(struct err_list *errs, struct fy_diag *diag)
{
	struct fy_diag_error *e;
	void *iter = NULL;
	size_t before = errs->n_errors;

	while ((e = fy_diag_errors_iterate(diag, &iter)))
		err_add(errs, e->line > 0 ? (unsigned int)e->line : 1,
			e->column > 0 ? (unsigned int)e->column : 0, NULL, "not YAML: %s",
			e->msg ? e->msg : "syntax error");
	if (errs->n_errors == before)
		err_add(errs, 0, 0, NULL, "not YAML");
}

static int run_parser(struct builder *b, struct fy_parser *parser)
{
	struct fy_event *event;
	int r = 0;

	while (!r && (event = fy_parser_parse(parser))) {
		r = on_event(b, event);
		fy_parser_event_free(parser, event);
	}
	return r;
}

/* Length of the UTF-8 character at s (RFC 3629: no overlong forms, no surrogates), or 0. */
static size_t character_at(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 1)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || len < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* What no policy holds, and what libfyaml up to 0.7.12 does not end on (a directive that is not
 * UTF-8 keeps it in its loop; seen by fuzz_policy). */
static int check_characters(const char *text, size_t len, struct err_list *errs)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int line = 1, column = 1;

	if (len >= 3 && !memcmp(s, "\xef\xbb\xbf", 3))
		column = 0; /* a byte order mark takes no place */
	for (size_t i = 0, n; i < len; i += n, column++) {
		n = character_at(s + i, len - i);
		if (!n || (s[i] < 0x20 && !strchr("\t\n\r", s[i])) || !s[i] || s[i] == 0x7f) {
			err_add(errs, line, column, "write the policy in UTF-8",
				n ? "a control character (0x%02x)" : "not UTF-8 (byte 0x%02x)",
				s[i]);
			return -EINVAL;
		}
		if (s[i] == '%' && column == 1) {
			err_add(errs, line, column, "take the line away",
				"YAML directives are no part of the policy language");
			return -EINVAL;
		}
		if (s[i] == '\n' || (s[i] == '\r' && (i + 1 == len || s[i + 1] != '\n'))) {
			line++;
			column = 0;
		}
	}
	return 0;
}

int yaml_parse(const char *text, size_t len_bytes, struct arena *a, struct err_list *errs,
	struct yaml_node **ret_root)
{
	_cleanup_(fy_diag_destroy_ptr)
	struct fy_diag *diag = fy_diag_create(NULL);
	_cleanup_(fy_parser_destroy_ptr)
	struct fy_parser *parser = NULL;
	struct fy_parse_cfg cfg = {
		.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 |
			FYPCF_JSON_NONE | FYPCF_ALLOW_DUPLICATE_KEYS,
		.diag = diag,
	};
	struct builder b = {.arena = a, .errs = errs};
	int r = check_characters(text, len_bytes, errs);

	if (r < 0)
		return r;
	if (!diag)
		return -ENOMEM;
	fy_diag_set_collect_errors(diag, true);
	parser = fy_parser_create(&cfg);
	if (!parser || fy_parser_set_string(parser, text, len_bytes) < 0)
		return -ENOMEM;
	r = run_parser(&b, parser);
	if (r < 0)
		return r;
	if (fy_parser_get_stream_error(parser)) {
		add_syntax_errors(errs, diag);
		return -EINVAL;
	}
	*ret_root = b.root;
	return 0;
}
