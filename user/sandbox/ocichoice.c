/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules of names and paths; see ocichoice.h. */
#include "ocichoice.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/htab.h"

#define NAME_CHARS 40
#define SHORT_CHARS 27
#define HASH_CHARS 12
#define ID_DIGITS 64 /* of ids that engines draw: their first twelve are what people know them by */

__attribute__((format(printf, 3, 4))) static int refuse(
	char *why, size_t why_bytes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, why_bytes, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* --- the policy */

static bool has_suffix(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static bool is_policy_name(const char *text)
{
	if (*text == '.')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
			return false;
	return true;
}

/* By its letters: links below the folder are whose who made them, root's. */
static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	while (n && folder[n - 1] == '/')
		n--;
	if (strncmp(path, folder, n) != 0 || path[n] != '/')
		return false;
	for (const char *at = path + n; at; at = strchr(at + 1, '/'))
		if (at[1] == '/' || at[1] == '.' || !at[1])
			return false;
	return true;
}

static int name_policy(const struct ocistate *s, const struct ocichoice_plan *plan,
	char ret[static PATH_MAX], char *why, size_t why_bytes)
{
	const char *root = plan->policies ? plan->policies : OCICHOICE_ROOT;
	const char *folder = plan->policies ? plan->policies : OCICHOICE_POLICIES;
	int n;

	if (is_policy_name(s->policy))
		n = snprintf(ret, PATH_MAX, "%s/%s%s", folder, s->policy,
			has_suffix(s->policy) ? "" : ".yaml");
	else if (is_below(s->policy, root) && has_suffix(s->policy))
		n = snprintf(ret, PATH_MAX, "%s", s->policy);
	else
		return refuse(why, why_bytes,
			"annotation nej.policy: `%.128s` is neither the name of a policy in %.64s "
			"nor the path of a .yaml file below %.64s: put it there, or give the hook "
			"`--policies` with its folder",
			s->policy, folder, root);
	return n < PATH_MAX ? 0 : refuse(why, why_bytes, "annotation nej.policy: it is too long");
}

int ocichoice_policy(const struct ocistate *s, const struct ocichoice_plan *plan,
	char ret[static PATH_MAX], char *why, size_t why_bytes)
{
	const char *fallback = plan->fallback ? plan->fallback : OCICHOICE_DEFAULT;
	struct stat st;

	*ret = 0;
	if (s->policy[0])
		return name_policy(s, plan, ret, why, why_bytes);
	/* A link that leads nowhere is a default that is broken, not none; its folder may be one. */
	if (lstat(fallback, &st) == 0 || errno != ENOENT ||
		(lstat(OCICHOICE_ROOT, &st) == 0 && stat(OCICHOICE_ROOT, &st) < 0)) {
		snprintf(ret, PATH_MAX, "%s", fallback);
		return 0;
	}
	/* Whoever names a sandbox wants one; so does who names a default. */
	if (!plan->fallback && !plan->is_required && !s->name[0])
		return 0;
	return refuse(why, why_bytes,
		"container %.64s has no annotation nej.policy, and the default %.128s is not there",
		s->id, fallback);
}

/* --- the name */

static void put_hash(const char *id, char *ret)
{
	static const uint64_t key[2];

	snprintf(ret, HASH_CHARS + 1, "%0*llx", HASH_CHARS,
		(unsigned long long)hash_bytes_keyed(key, id, strlen(id)) &
			((1ULL << 4 * HASH_CHARS) - 1));
}

static bool is_drawn(const char *id)
{
	return strlen(id) == ID_DIGITS && strspn(id, "0123456789abcdef") == ID_DIGITS;
}

static void default_name(const char *id, char ret[static OCICHOICE_NAME_BYTES])
{
	char hash[HASH_CHARS + 1];
	bool is_whole = strlen(id) <= NAME_CHARS;
	int n = snprintf(ret, OCICHOICE_NAME_BYTES, "oci-%.*s",
		is_whole || is_drawn(id) ? NAME_CHARS : SHORT_CHARS, id);

	for (char *at = ret; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_", *at)) {
			*at = '_';
			is_whole = false;
		}
	if (is_whole || is_drawn(id))
		return;
	put_hash(id, hash);
	if (n > 4 + SHORT_CHARS)
		n = 4 + SHORT_CHARS;
	snprintf(ret + n, OCICHOICE_NAME_BYTES - (size_t)n, "-%s", hash);
}

/* Containers of one pod have one annotation, and may each be a sandbox. */
int ocichoice_name(const struct ocistate *s, char ret[static OCICHOICE_NAME_BYTES], char *why,
	size_t why_bytes)
{
	char hash[HASH_CHARS + 1];
	int n = 0;

	put_hash(s->id, hash);
	if (!s->name[0])
		default_name(s->id, ret);
	else if (s->kind == OCISTATE_IN_POD)
		n = snprintf(ret, OCICHOICE_NAME_BYTES, "%s-%.*s", s->name, HASH_CHARS,
			is_drawn(s->id) ? s->id : hash);
	else
		n = snprintf(ret, OCICHOICE_NAME_BYTES, "%s", s->name);
	if (n < (int)OCICHOICE_NAME_BYTES)
		return 0;
	return refuse(why, why_bytes, "annotation nej.name: `%.64s` is too long", s->name);
}
