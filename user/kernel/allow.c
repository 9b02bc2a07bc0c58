/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys and values of the two tries; see allow.h. What they mean: bpf/decide.bpf.h. */
#include "allow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>

#include "../base/cleanup.h"

static bool is_v4_prefix(const struct prefix *p)
{
	return addr_is_v4(&p->addr) && p->bits >= 96;
}

int allow_add(struct object *o, const struct allow_entry *e)
{
	struct nej_allow4_key key4 = {.proto = e->proto, .port_be = htons(e->port)};
	struct nej_allow6_key key6 = {.proto = e->proto, .port_be = htons(e->port)};
	int r;

	if (is_v4_prefix(&e->prefix)) {
		key4.prefix_bits = 32 + e->prefix.bits - 96u;
		memcpy(key4.addr, e->prefix.addr.b + 12, 4);
		r = bpf_map_update_elem(object_map_fd(o, "allow4"), &key4, &e->value, BPF_ANY);
	} else {
		key6.prefix_bits = 32 + e->prefix.bits;
		memcpy(key6.addr, e->prefix.addr.b, 16);
		r = bpf_map_update_elem(object_map_fd(o, "allow6"), &key6, &e->value, BPF_ANY);
	}
	return r < 0 ? -errno : 0;
}

static bool is_pass(int fd, const void *key)
{
	struct nej_allow value;

	return bpf_map_lookup_elem(fd, key, &value) == 0 && value.verdict == NEJ_PASS;
}

/* As decide_find_allow does: the port's own entry first. */
bool allow_has(const struct object *o, const struct endpoint *to, uint8_t proto)
{
	struct nej_allow4_key key4 = {
		.prefix_bits = 64, .proto = proto, .port_be = htons(to->port)};
	struct nej_allow6_key key6 = {
		.prefix_bits = 160, .proto = proto, .port_be = htons(to->port)};
	int fd;

	if (addr_is_v4(&to->addr)) {
		fd = object_map_fd(o, "allow4");
		memcpy(key4.addr, to->addr.b + 12, 4);
		if (is_pass(fd, &key4))
			return true;
		key4.port_be = 0;
		return is_pass(fd, &key4);
	}
	fd = object_map_fd(o, "allow6");
	memcpy(key6.addr, to->addr.b, 16);
	if (is_pass(fd, &key6))
		return true;
	key6.port_be = 0;
	return is_pass(fd, &key6);
}

/* Deletes the entries `is_stale` picks. Keys are collected first: a trie may not change under its
 * own iteration. */
static int del_from(int fd, size_t key_bytes, bool (*is_stale)(const struct nej_allow *, uint64_t),
	uint64_t arg)
{
	_cleanup_free_ uint8_t *keys = NULL;
	uint8_t next[sizeof(struct nej_allow6_key)];
	size_t n = 0, cap = 0;
	void *at = NULL;

	while (!bpf_map_get_next_key(fd, at, next)) {
		if (n == cap) {
			uint8_t *more;

			cap = cap ? cap * 2 : 64;
			more = reallocarray(keys, cap, key_bytes);
			if (!more)
				return -ENOMEM;
			keys = more;
		}
		at = memcpy(keys + n++ * key_bytes, next, key_bytes);
	}
	for (size_t i = 0; i < n; i++) {
		struct nej_allow value;

		if (!bpf_map_lookup_elem(fd, keys + i * key_bytes, &value) && is_stale(&value, arg))
			bpf_map_delete_elem(fd, keys + i * key_bytes);
	}
	return 0;
}

int allow_del(struct object *o, bool (*is_stale)(const struct nej_allow *value, uint64_t arg),
	uint64_t arg)
{
	int r = del_from(object_map_fd(o, "allow4"), sizeof(struct nej_allow4_key), is_stale, arg);

	return r < 0 ? r
		     : del_from(object_map_fd(o, "allow6"), sizeof(struct nej_allow6_key), is_stale,
			       arg);
}
