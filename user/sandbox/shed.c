/* SPDX-License-Identifier: GPL-2.0-only */
/* Unmaps what /proc/self/smaps shows to be clean pages of files; see shed.h. */
#include "shed.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../base/cleanup.h"

struct range {
	uintptr_t begin, end;
	bool is_clean_file; /* read-only, of a file, not written to by the linker */
};

/* `BEGIN-END r-xp OFFSET DEV INODE PATH`. Shared mappings are the rings and the policy: kept. */
static bool parse_header(const char *line, struct range *ret)
{
	char perms[8], path[8] = "";

	if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", &ret->begin, &ret->end, perms, path) < 3)
		return false;
	ret->is_clean_file = perms[1] == '-' && perms[3] == 'p' && path[0] == '/';
	return true;
}

/* Dropping a page the linker wrote to would bring back the file's bytes: relocations would be gone. */
static void drop(const struct range *range)
{
	if (range->is_clean_file)
		madvise((void *)range->begin, range->end - range->begin, MADV_DONTNEED);
}

void shed_memory(void)
{
	_cleanup_fclose_ FILE *smaps = fopen("/proc/self/smaps", "re");
	_cleanup_free_ char *line = NULL;
	struct range range = {0}, next;
	size_t cap = 0;
	unsigned long kb;

	malloc_trim(0);
	while (smaps && getline(&line, &cap, smaps) > 0) {
		if (parse_header(line, &next)) {
			drop(&range);
			range = next;
		} else if (sscanf(line, "Anonymous: %lu kB", &kb) == 1 && kb) {
			range.is_clean_file = false;
		}
	}
	drop(&range);
}
