/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads mountinfo; see mounts.h. */
#include "mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "../base/cleanup.h"
#include "../base/file.h"

#define MAX_FILE_BYTES (4u << 20)

/* mountinfo writes blanks in paths as \040 and the like (proc(5)). */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] && in[3]) {
			*out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = 0;
}

static bool parse(char *line, struct mount_row *row)
{
	char options[256];
	const char *dash = strstr(line, " - ");

	if (!dash || sscanf(dash + 3, "%63s", row->type) != 1 ||
		sscanf(line, "%*d %*d %*s %*s %4095s %255s", row->target, options) != 2)
		return false;
	unescape(row->target);
	row->flags = (strstr(options, "nosuid") ? MS_NOSUID : 0) |
		(strstr(options, "nodev") ? MS_NODEV : 0) |
		(strstr(options, "noexec") ? MS_NOEXEC : 0);
	return true;
}

int mounts_each(int (*on_mount)(void *arg, const struct mount_row *row), void *arg)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ struct mount_row *row = malloc(sizeof(*row));
	char *rest;
	size_t len;
	int r = row ? file_read("/proc/self/mountinfo", MAX_FILE_BYTES, &text, &len) : -ENOMEM;

	if (r < 0)
		return r;
	for (char *line = strtok_r(text, "\n", &rest); line && r >= 0;
		line = strtok_r(NULL, "\n", &rest))
		if (parse(line, row))
			r = on_mount(arg, row);
	return r;
}

int mounts_remount(const struct mount_row *row, unsigned long flags)
{
	if (mount(NULL, row->target, NULL, MS_REMOUNT | MS_BIND | row->flags | flags, NULL) == 0)
		return 0;
	return errno == ENOENT || errno == EINVAL ? 0 : -errno;
}
