/* SPDX-License-Identifier: GPL-2.0-only */
/* A mapping of its own for each value; see locked.h. */
#include "locked.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int locked_new(size_t size_bytes, struct locked *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_bytes + page - 1) / page * page;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (mlock(p, size) < 0 || madvise(p, size, MADV_DONTDUMP) < 0 ||
		madvise(p, size, MADV_WIPEONFORK) < 0) {
		int err = errno;

		munmap(p, size);
		return -err;
	}
	*ret = (struct locked){.data = p, .size_bytes = size};
	return 0;
}

void locked_free(struct locked *l)
{
	if (l->data) {
		explicit_bzero(l->data, l->size_bytes);
		munmap(l->data, l->size_bytes);
	}
	*l = (struct locked){0};
}
