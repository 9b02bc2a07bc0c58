/* SPDX-License-Identifier: GPL-2.0-only */
/* What this machine's kernel has, found by trying, never by version. */
#ifndef NEJ_KERNEL_PROBE_H
#define NEJ_KERNEL_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum probe_level {
	PROBE_REQUIRED, /* nej does not run without it */
	PROBE_OPTIONAL, /* nej does something less good without it */
	PROBE_UNUSED,   /* not needed; reported because people ask */
};

struct probe_result {
	const char *name;    /* `cgroup2`, `bpf`, `set_retval`, `connect_unix`, `nf_tables`, … */
	const char *what;    /* one sentence: what nej uses it for */
	const char *without; /* what nej does without it */
	enum probe_level level;
	bool is_present;
	char detail[128]; /* mount point, version, errno */
};

/* Fills up to max results in a fixed order; returns how many. Takes well under a second. */
size_t probe_all(struct probe_result *ret, size_t max);

/* bpf_set_retval (5.18): a refused call gets the errno of our choice instead of EPERM. */
bool probe_has_set_retval(void);

/* BPF_CGROUP_UNIX_CONNECT of linux/bpf.h since 6.7, which the headers of older systems lack. */
#define PROBE_ATTACH_UNIX_CONNECT 49
/* The hook and the kernel BTF its program needs. */
bool probe_has_connect_unix(void);

/* Where cgroup2 is mounted (never assumed: /sys/fs/cgroup or /sys/fs/cgroup/unified). 0, -ENOENT. */
int probe_cgroup2(char *ret_path, size_t max_bytes);

#endif
