// SPDX-License-Identifier: GPL-2.0-only
/*
 * connect() of Unix-domain sockets (Linux 6.7): refuses those of include/unix_paths.h. An object of
 * its own, since its kfuncs need kernel BTF, without which nothing beside them would load. Shares
 * the maps of the other programs.
 */
#define NEJ_WANT_KERNEL_TYPES
#include "event.bpf.h"
#include <bpf/bpf_core_read.h>

#include "../include/unix_paths.h"

extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

#define UNIX_TEXT_BYTES 32
#define UNIX_PATH_BYTES 128 /* a power of two above sizeof(sun_path) */

const volatile char nej_unix_text[][UNIX_TEXT_BYTES] = {
#define X(path, service, is_quiet) path,
	NEJ_UNIX_PATHS(X)
#undef X
};
const volatile __u8 nej_unix_len[] = {
#define X(path, service, is_quiet) sizeof(path) - 1,
	NEJ_UNIX_PATHS(X)
#undef X
};
const volatile __u8 nej_unix_quiet[] = {
#define X(path, service, is_quiet) is_quiet,
	NEJ_UNIX_PATHS(X)
#undef X
};
#define UNIX_ROWS (sizeof(nej_unix_len) / sizeof(nej_unix_len[0]))
_Static_assert(UNIX_ROWS <= 32, "nej_settings.unix_open has a bit a row");

struct unix_name {
	char text[UNIX_PATH_BYTES]; /* `@` in front of an abstract name, as ss prints it */
	__u32 len;
};

static __always_inline void unix_read(struct bpf_sock_addr *ctx, struct unix_name *ret)
{
	struct bpf_sock_addr_kern___nej *kern = bpf_cast_to_kern_ctx(ctx);
	struct sockaddr_un___nej *addr;
	__u32 size = kern->uaddrlen;
	long n;

	addr = bpf_rdonly_cast(kern->uaddr, bpf_core_type_id_kernel(struct sockaddr_un___nej));
	if (size <= sizeof(addr->sun_family))
		return;
	if (addr->sun_path[0]) {
		n = bpf_probe_read_kernel_str(ret->text, sizeof(addr->sun_path), addr->sun_path);
		ret->len = n > 0 ? n - 1 : 0;
		return;
	}
	ret->text[0] = '@';
	size = (size - sizeof(addr->sun_family) - 1) & (UNIX_PATH_BYTES - 1);
	if (size > sizeof(addr->sun_path) - 1)
		size = sizeof(addr->sun_path) - 1;
	bpf_probe_read_kernel(ret->text + 1, size, addr->sun_path + 1);
	ret->len = size + 1;
}

/* A path's last components, or an abstract name's beginning. A global function, which the verifier goes
 * through once, whatever the row: inlined for each of them it takes 130 ms of every start. */
__weak int unix_matches(__u32 row, const struct unix_name *name)
{
	__u32 len, start, i;

	if (!name || row >= UNIX_ROWS)
		return 0;
	len = nej_unix_len[row];
	if (name->len < len)
		return 0;
	start = nej_unix_text[row][0] == '@' ? 0 : name->len - len;
	if (start && name->text[(start - 1) & (UNIX_PATH_BYTES - 1)] != '/')
		return 0;
	for (i = 0; i < UNIX_TEXT_BYTES; i++) {
		if (i >= len)
			return 1;
		if (name->text[(start + i) & (UNIX_PATH_BYTES - 1)] != nej_unix_text[row][i])
			return 0;
	}
	return 1;
}

static __always_inline int unix_refuse(const struct nej_settings *s, __u32 row)
{
	struct nej_dest dest = {.family = AF_UNIX, .port_be = bpf_htons(row)};
	struct nej_decision d = {.verdict = NEJ_DENY, .reason = NEJ_REASON_FAMILY};

	d.is_quiet = row < UNIX_ROWS && nej_unix_quiet[row];
	return event_finish(s, NEJ_HOOK_UNIX, &d, &dest);
}

SEC("cgroup/connect_unix")
int nej_connect_unix(struct bpf_sock_addr *ctx)
{
	const struct nej_settings *s = settings_find();
	struct unix_name name = {};
	__u32 i;

	/* While nothing is configured a program may still talk to its own sockets. */
	if (!s || !(s->flags & NEJ_F_UNIX_PRIVATE) || settings_exempt_caller(s))
		return 1;
	unix_read(ctx, &name);
	for (i = 0; i < UNIX_ROWS; i++)
		if (!(s->unix_open & (1u << i)) && unix_matches(i, &name))
			break;
	return i < UNIX_ROWS ? unix_refuse(s, i) : 1;
}

char _license[] SEC("license") = "GPL";
