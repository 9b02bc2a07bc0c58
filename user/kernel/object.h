/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF object of one sandbox: load, attach to a cgroup, pin, adopt what an earlier supervisor
 * left. All hooks attach or nothing stays.
 */
#ifndef NEJ_KERNEL_OBJECT_H
#define NEJ_KERNEL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/abi.h"

struct object;

/* What went wrong, for people: the hook or map and the kernel feature that is missing. */
struct object_error {
	char what[256];
	char mend[256];
};

/* Loads the programs. name: the sandbox, a folder under NEJ_PIN_ROOT. 0 or negative errno with
 * error filled. */
int object_load(const char *name, struct object **ret, struct object_error *error);

/* Attaches every hook to the cgroup (a directory descriptor) and pins links and maps. On failure
 * nothing stays attached or pinned. Enforcement is complete, denying everything, when it returns. */
int object_attach(struct object *o, int cgroup_fd, struct object_error *error);

/* Before object_attach, where no mount namespace masks them: the program that refuses Unix-domain
 * sockets leading out (NEJ_F_UNIX_PRIVATE switches it on). 0, or -EOPNOTSUPP: needs Linux 6.7 with
 * kernel BTF. Takes 40 ms, most of them to read the kernel's BTF. */
int object_load_unix(struct object *o);

/* Are there pins of this name, and does a cgroup still hang on them? */
bool object_is_pinned(const char *name);
/* Removes pins (and thereby links) of this name. */
int object_unpin(const char *name);
/* Removes the pins of sandboxes whose cgroup is gone. Returns how many, or negative errno. */
int object_collect(void);

/* Is every hook still on its cgroup? Somebody with root's rights may have taken one away. */
bool object_is_attached(const struct object *o);

/* Detaches, unpins and frees. object_release frees but leaves pins and links in force. */
void object_free(struct object *o);
void object_release(struct object *o);

/* Each word of the block changes at once; a block that becomes active does so last. */
int object_settings(struct object *o, const struct nej_settings *settings);
const struct nej_settings *object_settings_now(const struct object *o); /* as last written */
/* Rounds of apply_policy: entries written in an earlier one are known by it. */
uint8_t object_begin_round(struct object *o);
uint8_t object_round(const struct object *o);
/* Gives a socket of ours its storage, as the hooks would have, had they seen it made. 0, -EEXIST: it
 * has one; -ENOMEM; other negative errno. */
int object_tag(const struct object *o, int socket_fd, const struct nej_socket *value);
/* The other way: 0, -ENOENT without storage. object_retag replaces what is there. */
int object_tag_read(const struct object *o, int socket_fd, struct nej_socket *ret);
int object_retag(const struct object *o, int socket_fd, const struct nej_socket *value);
/* Kept for apply.c as long as the maps are. */
struct learned;
struct learned *object_learned(struct object *o);
int object_flows_fd(struct object *o); /* a new read-only descriptor, for the worker */
int object_map_fd(const struct object *o, const char *map); /* borrowed */

/* Sums the per-CPU counters. counts has NEJ_COUNTER_COUNT slots. */
int object_counters(struct object *o, uint64_t counts[NEJ_COUNTER_COUNT]);
/* The same from the pins of another process's sandbox (`nej status`). */
int object_counters_pinned(const char *name, uint64_t counts[NEJ_COUNTER_COUNT]);
int object_settings_pinned(const char *name, struct nej_settings *ret);
/* Refuses everything of such a sandbox, whether its supervisor answers or not. -ENOENT: no pins. */
int object_halt_pinned(const char *name);

#endif
