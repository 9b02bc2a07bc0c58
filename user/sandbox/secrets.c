/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: values are read before anything is forked, into locked memory. The same bytes
 * elsewhere in this process (our environment, which /proc shows and a fork copies; the command's
 * words) are overwritten at once. The worker gets a memfd at each of its starts and after each
 * renewal; the values themselves stay here as long as the sandbox does, because a variable cannot be
 * read twice.
 */
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "handoff.h"
#include "options.h"
#include "placeholder.h"
#include "source.h"

/* A shorter value may stand in any text by chance: only a variable that is equal is taken out. */
#define MIN_TELLING_BYTES 8
#define MAX_DRAWS 64

/* --- placeholders */

static bool contains(const char *text, size_t len, const char *part, size_t part_len)
{
	return part_len && memmem(text, len, part, part_len);
}

/* Another's placeholder must not be found in it, nor it in another's or in a value, nor a value in it,
 * unless that is so short that it would be found in everything. */
static bool is_unique(const struct secrets *s, const char *drawn, size_t len)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct secrets_item *item = &s->items[i];
		const char *other = item->placeholder;

		if (contains(item->value.data, item->value.len, drawn, len) ||
			(item->value.len >= MIN_TELLING_BYTES &&
				contains(drawn, len, item->value.data, item->value.len)))
			return false;
		if (other && (strstr(other, drawn) || strstr(drawn, other)))
			return false;
	}
	return true;
}

static int draw_placeholder(const struct secrets *s, struct secrets_item *item)
{
	_cleanup_free_ char *drawn = malloc(item->value.len + PLACEHOLDER_MORE_BYTES + 1);

	if (!drawn)
		return -ENOMEM;
	for (int i = 0; i < MAX_DRAWS; i++) {
		int len = placeholder_draw(item->value.data, item->value.len, drawn);

		if (len < 0)
			return len;
		if (!is_unique(s, drawn, (size_t)len))
			continue;
		item->placeholder = TAKE_PTR(drawn);
		return 0;
	}
	return -EEXIST;
}

/* --- reading */

static const struct secrets_item *find(const struct secrets *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->items[i].name, name))
			return &s->items[i];
	return NULL;
}

static int fail(const char *name, const char *what, const char *why)
{
	log_error("the secret %s cannot be read: %s: %s", name, what, why);
	return SANDBOX_EXIT_USAGE;
}

/* The access key id goes over the wire in clear: a variable that holds it stays as it is. */
static int read_key_id(struct secrets *s, size_t i)
{
	struct secrets_item *item = &s->items[i];
	struct policy_secret secret;
	struct source_error why;
	const char *text;
	char what[128];

	if (!policy_secret(s->policy, i, &secret) || !secret.key_id || find(s, secret.key_id))
		return 0;
	text = getenv(secret.key_id);
	snprintf(what, sizeof(what), "its key_id, variable %s", secret.key_id);
	if (!text)
		return fail(item->name, what, "it is not set");
	if (source_take(text, strlen(text), &item->key_id, &why) < 0)
		return fail(item->name, what, why.why);
	return 0;
}

static int read_item(struct secrets *s, size_t i)
{
	struct secrets_item *item = &s->items[i];
	struct source_error why;
	char what[512];

	if (source_read(s->policy, i, &s->signals, &item->value, &why) < 0) {
		source_print(s->policy, i, what, sizeof(what));
		return fail(item->name, what, why.why);
	}
	if (item->value.len < MIN_TELLING_BYTES)
		log_warning(
			"the secret %s is shorter than %d characters: it is easily guessed, and "
			"only variables that are equal to it are taken out of the environment",
			item->name, MIN_TELLING_BYTES);
	return read_key_id(s, i);
}

static int refuse_start(int err)
{
	log_error("cannot keep secrets: %s", strerror(-err));
	return SANDBOX_EXIT_FAILED;
}

int secrets_open(const struct policy *p, const sigset_t *signals, struct secrets *ret)
{
	struct secrets *s = ret;
	struct policy_secret secret;
	int r = 0;

	*s = (struct secrets){.policy = p, .signals = *signals, .n = policy_secret_count(p)};
	if (!s->n)
		return 0;
	s->items = calloc(s->n, sizeof(*s->items));
	if (!s->items)
		return refuse_start(-ENOMEM);
	for (size_t i = 0; policy_secret(p, i, &secret); i++)
		s->items[i].name = secret.name;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return refuse_start(-errno);
	for (size_t i = 0; i < s->n; i++)
		r |= read_item(s, i);
	for (size_t i = 0; i < s->n && !r; i++) {
		int err = draw_placeholder(s, &s->items[i]);

		r = err < 0 ? refuse_start(err) : 0;
	}
	return r;
}

void secrets_done(struct secrets *s)
{
	for (size_t i = 0; i < s->n && s->items; i++) {
		locked_free(&s->items[i].value);
		locked_free(&s->items[i].key_id);
		free(s->items[i].placeholder);
	}
	free(s->items);
	*s = (struct secrets){0};
}

/* --- hiding */

/* The longest value that begins here, so that none hides behind a part of it. */
static const struct secrets_item *value_at(const struct secrets *s, const char *at, size_t left)
{
	const struct secrets_item *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct locked *v = &s->items[i].value;

		if (v->len >= MIN_TELLING_BYTES && v->len <= left && !memcmp(at, v->data, v->len) &&
			(!best || v->len > best->value.len))
			best = &s->items[i];
	}
	return best;
}

/* value: where in text the part begins that may be equal to a short one. *ret is NULL when there is
 * nothing to replace. */
static int replace(const struct secrets *s, const char *text, const char *value, char **ret)
{
	size_t len = strlen(text), from = (size_t)(value - text);
	bool is_found = false;
	struct buf b = {0};

	*ret = NULL;
	for (size_t i = 0; i < s->n; i++) {
		const struct locked *v = &s->items[i].value;

		if (v->len && v->len < MIN_TELLING_BYTES && v->len == len - from &&
			!memcmp(value, v->data, v->len)) {
			buf_add(&b, text, from);
			buf_add_str(&b, s->items[i].placeholder);
			*ret = b.data;
			return b.is_failed ? -ENOMEM : 0;
		}
	}
	for (size_t i = 0; i < len;) {
		const struct secrets_item *item = value_at(s, text + i, len - i);

		if (item)
			buf_add_str(&b, item->placeholder);
		else
			buf_add_char(&b, text[i]);
		is_found |= item != NULL;
		i += item ? item->value.len : 1;
	}
	if (is_found && !b.is_failed)
		*ret = TAKE_PTR(b.data);
	free(b.data);
	return b.is_failed ? -ENOMEM : 0;
}

/* Is it a variable that a secret is read from? */
static bool is_source(const struct secrets *s, const char *variable, size_t name_len)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *name = policy_secret_arg(s->policy, i, 0);

		if (policy_secret_source(s->policy, i) == POLICY_SOURCE_ENV &&
			strlen(name) == name_len && !memcmp(name, variable, name_len))
			return true;
	}
	return false;
}

static void note(struct buf *names, const char *name, size_t len)
{
	if (names->len)
		buf_add_str(names, ", ");
	buf_add(names, name, len);
}

static int hide_variables(const struct secrets *s, struct buf *names)
{
	char **to = environ;
	int r = 0;

	for (char **from = environ; *from && r >= 0; from++) {
		size_t name_len = strcspn(*from, "=");
		char *other = NULL;

		if (is_source(s, *from, name_len)) {
			explicit_bzero(*from, strlen(*from));
			continue;
		}
		r = replace(s, *from, *from + name_len + ((*from)[name_len] == '='), &other);
		if (other) {
			note(names, *from, name_len);
			explicit_bzero(*from, strlen(*from));
		}
		*to++ = other ? other : *from;
	}
	*to = NULL;
	return r;
}

/* argv stays where it is, its words move. */
static int hide_words(const struct secrets *s, char **argv, struct buf *names)
{
	bool is_found = false;
	int r = 0;

	for (; *argv && r >= 0; argv++) {
		char *other;

		r = replace(s, *argv, *argv, &other);
		if (!other)
			continue;
		is_found = true;
		explicit_bzero(*argv, strlen(*argv));
		*argv = other;
	}
	if (is_found)
		note(names, "words of the command", strlen("words of the command"));
	return r;
}

int secrets_hide(const struct secrets *s, char **argv)
{
	_cleanup_(buf_done)
	struct buf names = {0};
	int r;

	if (!s->n)
		return 0;
	r = hide_variables(s, &names);
	if (r >= 0)
		r = hide_words(s, argv, &names);
	for (size_t i = 0; i < s->n && r >= 0; i++)
		r = setenv(s->items[i].name, s->items[i].placeholder, 1) < 0 ? -errno : 0;
	if (r >= 0 && names.len && !names.is_failed)
		log_notice("secrets were found elsewhere and replaced by placeholders: %s",
			names.data);
	return r;
}

/* --- again */

static bool is_renewed(const struct secrets *s, size_t i)
{
	return policy_secret_source(s->policy, i) != POLICY_SOURCE_ENV;
}

void secrets_read_again(
	const struct secrets *s, struct locked *ret, struct buf *read, struct buf *failed)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *name = s->items[i].name;
		struct source_error why;

		ret[i] = (struct locked){0};
		if (!is_renewed(s, i))
			continue;
		if (source_read(s->policy, i, &s->signals, &ret[i], &why) == 0) {
			note(read, name, strlen(name));
		} else {
			note(failed, name, strlen(name));
			buf_printf(failed, " (%s)", why.why);
		}
	}
}

void secrets_renew(struct secrets *s, struct locked *values)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!is_renewed(s, i))
			continue;
		locked_free(&s->items[i].value);
		s->items[i].value = values[i];
	}
}

/* --- the worker's copy */

struct writing {
	int fd, err;
	uint32_t at;
};

static struct handoff_piece put(struct writing *w, const char *data, size_t len)
{
	struct handoff_piece piece = {w->at, (uint32_t)len};

	if (!len || w->err < 0)
		return (struct handoff_piece){0};
	if (pwrite(w->fd, data, len, w->at) != (ssize_t)len)
		w->err = errno ? -errno : -EIO;
	w->at += (uint32_t)len;
	return piece;
}

static struct handoff_secret put_item(struct writing *w, const struct secrets *s, size_t i)
{
	const struct secrets_item *item = &s->items[i];
	const struct locked *key_id = &item->key_id;
	struct policy_secret secret;

	if (!key_id->len && policy_secret(s->policy, i, &secret) && secret.key_id &&
		find(s, secret.key_id))
		key_id = &find(s, secret.key_id)->value;
	return (struct handoff_secret){
		.placeholder = put(w, item->placeholder, strlen(item->placeholder)),
		.value = put(w, item->value.data, item->value.len),
		.key_id = put(w, key_id->data, key_id->len),
	};
}

int secrets_encode(const struct secrets *s)
{
	struct handoff_secrets head = {.magic = HANDOFF_SECRETS_MAGIC, .n = (uint32_t)s->n};
	_cleanup_close_ int fd = memfd_create("nej-secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct writing w = {
		.fd = fd, .at = (uint32_t)(sizeof(head) + s->n * sizeof(head.secrets[0]))};

	if (fd < 0 || pwrite(fd, &head, sizeof(head), 0) != sizeof(head))
		return -errno;
	for (size_t i = 0; i < s->n && w.err >= 0; i++) {
		struct handoff_secret row = put_item(&w, s, i);
		off_t at = (off_t)(sizeof(head) + i * sizeof(row));

		if (pwrite(fd, &row, sizeof(row), at) != sizeof(row))
			return -errno;
	}
	if (w.err < 0)
		return w.err;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return TAKE_FD(fd);
}
