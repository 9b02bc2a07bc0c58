/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cleanup attributes: an owner's release stands next to its declaration, so no error path can
 * forget it. Header only.
 */
#ifndef NEJ_BASE_CLEANUP_H
#define NEJ_BASE_CLEANUP_H

#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/* Makes `type *` usable with _cleanup_(NAME_free_ptr): calls fn unless NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##_ptr(type **p)                                                      \
	{                                                                                          \
		if (*p)                                                                            \
			fn(*p);                                                                    \
	}                                                                                          \
	struct cleanup_needs_semicolon_##fn

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* Hands a pointer or descriptor over: the cleanup then finds nothing. */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
