/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every map of a sandbox, once. Each is __weak, so that `bpftool gen object` joins the programs on
 * one set. What keys and values mean stands in include/abi.h; README.md shows how to read them.
 */
#ifndef NEJ_MAPS_BPF_H
#define NEJ_MAPS_BPF_H

#include "../vmlinux/vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../include/abi.h"

#define MAP_WEAK __weak SEC(".maps")

/* Written by the supervisor only; all zero denies everything. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nej_settings);
} settings MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NEJ_MAX_ALLOW);
	__type(key, struct nej_allow4_key);
	__type(value, struct nej_allow);
} allow4 MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NEJ_MAX_ALLOW);
	__type(key, struct nej_allow6_key);
	__type(value, struct nej_allow);
} allow6 MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NEJ_MAX_GRANTS);
	__type(key, __u32);
	__type(value, struct nej_grant);
} grants MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NEJ_MAX_PORTS);
	__type(key, struct nej_port_key);
	__type(value, struct nej_port);
} ports MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct nej_socket);
} sockets MAP_WEAK;

/* LRU: a forgotten flow is a miss, and a miss closes the connection. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NEJ_MAX_FLOWS);
	__type(key, struct nej_flow_key);
	__type(value, struct nej_origin);
} flows MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, NEJ_EVENTS_BYTES);
} events MAP_WEAK;

/* LRU: a forgotten count is missing between `counters` and the records, and is reported as such. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NEJ_MAX_FOLDS);
	__type(key, struct nej_fold_key);
	__type(value, struct nej_fold);
} folds MAP_WEAK;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NEJ_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters MAP_WEAK;

/*
 * Does this kernel have bpf_set_retval (5.18)? Written by the loader before the load; the verifier
 * then drops the branch that is dead. A named constant also keeps .rodata's BTF from being empty,
 * which 5.10 refuses.
 */
const volatile __u32 nej_set_retval __weak = 0;

/* The settings, or NULL while nothing is configured: the caller refuses. */
static __always_inline const struct nej_settings *settings_find(void)
{
	__u32 zero = 0;
	const struct nej_settings *s = bpf_map_lookup_elem(&settings, &zero);

	if (!s || s->abi != NEJ_ABI_VERSION || !(s->flags & NEJ_F_ACTIVE))
		return NULL;
	return s;
}

/* Only where the current task is the one that calls. */
static __always_inline bool settings_exempt_caller(const struct nej_settings *s)
{
	return s && (s->flags & NEJ_F_SCOPE_UID) &&
		(__u32)bpf_get_current_uid_gid() != s->scope_uid;
}

/* Atomic: a program in softirq may interrupt another one on the same CPU, and counts are exact. */
static __always_inline void counters_add(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		__sync_fetch_and_add(value, 1);
}

#endif
