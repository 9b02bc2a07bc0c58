/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store of approved policies; see trust.h. One folder a path, named by a hash of it: `path`,
 * `policy` (the copy) and one empty file per approved content, named by its hash.
 */
#include "trust.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/htab.h"

/* Two fixed keys: the name need only be stable and spread; `path` is compared as well. */
static void folder_of(const char *real, char out[static PATH_MAX])
{
	static const uint64_t keys[2][2] = {{0x6e656a, 0x7472757374}, {0x706f6c, 0x696379}};
	unsigned long long a = hash_bytes_keyed(keys[0], real, strlen(real));
	unsigned long long b = hash_bytes_keyed(keys[1], real, strlen(real));

	snprintf(out, PATH_MAX, TRUST_ROOT "/%016llx%016llx", a, b);
}

static bool is_folder_of(const char *folder, const char *real)
{
	char name[PATH_MAX + 8];
	_cleanup_free_ char *text = NULL;
	size_t len;

	snprintf(name, sizeof(name), "%s/path", folder);
	return file_read(name, PATH_MAX, &text, &len) == 0 && strcmp(text, real) == 0;
}

static int put(const char *folder, const char *file, const void *data, size_t len)
{
	char name[PATH_MAX + 80];

	snprintf(name, sizeof(name), "%s/%s", folder, file);
	return file_replace(name, data, len, 0600);
}

int trust_add(const char *path, const char *sha256_hex)
{
	char real[PATH_MAX], folder[PATH_MAX];
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	if (!realpath(path, real))
		return -errno;
	r = file_read(real, NEJ_MAX_POLICY_BYTES, &text, &len);
	if (r < 0)
		return r;
	folder_of(real, folder);
	r = file_mkdirs(folder, 0700);
	if (r >= 0)
		r = put(folder, "path", real, strlen(real));
	if (r >= 0)
		r = put(folder, "policy", text, len);
	if (r >= 0)
		r = put(folder, sha256_hex, "", 0);
	return r;
}

int trust_has(const char *path, const char *sha256_hex)
{
	char real[PATH_MAX], folder[PATH_MAX], name[PATH_MAX + 80];
	struct stat st;

	if (!realpath(path, real))
		return -errno;
	folder_of(real, folder);
	if (!is_folder_of(folder, real))
		return 0;
	snprintf(name, sizeof(name), "%s/%s", folder, sha256_hex);
	return stat(name, &st) == 0 && st.st_uid == 0;
}

/* --- what changed: lines of a common beginning and end are left out, the middle shown whole */

struct lines {
	char **at;
	size_t n;
};

static int split(char *text, struct lines *ret)
{
	size_t n = 1;
	char *rest = text;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	ret->at = calloc(n, sizeof(*ret->at));
	ret->n = 0;
	if (!ret->at)
		return -ENOMEM;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (rest || *line)
			ret->at[ret->n++] = line;
	return 0;
}

/* The text is somebody's who may be hostile: no control characters to the terminal. */
static void print_line(char sign, const char *line)
{
	fprintf(stderr, "%c", sign);
	for (; *line; line++)
		fputc((unsigned char)*line < ' ' && *line != '\t' ? '?' : *line, stderr);
	fputc('\n', stderr);
}

static void print_changes(const struct lines *old, const struct lines *new)
{
	size_t head = 0, tail = 0;

	while (head < old->n && head < new->n &&strcmp(old->at[head], new->at[head]) == 0)
		head++;
	while (tail < old->n - head &&
		tail < new->n -
					head &&strcmp(old->at[old->n - 1 - tail],
						new->at[new->n - 1 - tail]) ==
			0)
		tail++;
	fprintf(stderr, "@@ -%zu,%zu +%zu,%zu @@\n", head + 1, old->n - head - tail, head + 1,
		new->n - head - tail);
	for (size_t i = head; i < old->n - tail; i++)
		print_line('-', old->at[i]);
	for (size_t i = head; i < new->n - tail; i++)
		print_line('+', new->at[i]);
}

bool trust_print_changes(const char *path)
{
	char real[PATH_MAX], folder[PATH_MAX], name[PATH_MAX + 8];
	_cleanup_free_ char *old_text = NULL, *new_text = NULL;
	struct lines old = {0}, new = {0};
	size_t len;

	if (!realpath(path, real))
		return false;
	folder_of(real, folder);
	snprintf(name, sizeof(name), "%s/policy", folder);
	if (!is_folder_of(folder, real) ||
		file_read(name, NEJ_MAX_POLICY_BYTES, &old_text, &len) < 0 ||
		file_read(real, NEJ_MAX_POLICY_BYTES, &new_text, &len) < 0)
		return false;
	if (strcmp(old_text, new_text) == 0)
		fprintf(stderr, "the policy is as it was trusted; a list it names has changed\n");
	else if (split(old_text, &old) == 0 && split(new_text, &new) == 0)
		print_changes(&old, &new);
	free(old.at);
	free(new.at);
	return true;
}
