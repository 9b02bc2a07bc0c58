/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads, attaches and pins the BPF programs of one sandbox. Which hooks there are is the table
 * below. The folders in bpffs are pins.c's; what is written into the maps is apply.c's.
 */
#include "object.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../base/cleanup.h"
#include "learned.h"
#include "nej.skel.h"
#include "nej_unix.skel.h"
#include "pins.h"
#include "probe.h"

/* X(program, hook as users know it, since): in the order of attachment, the net first. */
#define HOOKS(X)                                                                                   \
	X(nej_egress, "cgroup_skb/egress", "4.10")                                                 \
	X(nej_ingress, "cgroup_skb/ingress", "4.10")                                               \
	X(nej_sock_create, "cgroup/sock_create", "4.10")                                           \
	X(nej_connect4, "cgroup/connect4", "4.17")                                                 \
	X(nej_connect6, "cgroup/connect6", "4.17")                                                 \
	X(nej_sendmsg4, "cgroup/sendmsg4", "4.18")                                                 \
	X(nej_sendmsg6, "cgroup/sendmsg6", "4.18")                                                 \
	X(nej_recvmsg4, "cgroup/recvmsg4", "5.2")                                                  \
	X(nej_recvmsg6, "cgroup/recvmsg6", "5.2")                                                  \
	X(nej_getpeername4, "cgroup/getpeername4", "5.8")                                          \
	X(nej_getpeername6, "cgroup/getpeername6", "5.8")                                          \
	X(nej_bind4, "cgroup/bind4", "4.17")                                                       \
	X(nej_bind6, "cgroup/bind6", "4.17")                                                       \
	X(nej_sockops, "sockops", "4.13")

struct hook_row {
	size_t program_offset; /* in struct nej_bpf */
	const char *hook;
	const char *since;
};

static const struct hook_row hook_rows[] = {
#define X(program, hook, since) {offsetof(struct nej_bpf, progs.program), hook, since},
	HOOKS(X)
#undef X
};

#define N_HOOKS ARRAY_SIZE(hook_rows)
#define UNIX_HOOK "cgroup/connect_unix"

struct object {
	struct nej_bpf *skel;
	struct nej_unix *unix_skel; /* NULL: this kernel cannot */
	struct bpf_link *links[N_HOOKS + 1];
	struct nej_settings settings; /* as last written */
	uint8_t round;
	struct learned learned;
	bool is_pinned;
	char name[PINS_NAME_BYTES];
};

/* What libbpf had to say last: the reason behind an errno. */
static _Thread_local char libbpf_says[160];

__attribute__((format(printf, 2, 0))) static int libbpf_listen(
	enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !strstr(fmt, "BEGIN PROG LOAD LOG") && !libbpf_says[0]) {
		vsnprintf(libbpf_says, sizeof(libbpf_says), fmt, args);
		libbpf_says[strcspn(libbpf_says, "\n")] = 0;
	}
	return 0;
}

__attribute__((format(printf, 4, 5))) static int object_fail(
	struct object_error *error, int err, const char *mend, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error->what, sizeof(error->what), fmt, args);
	va_end(args);
	snprintf(error->mend, sizeof(error->mend), "%s", mend);
	return err;
}

/* --- loading */

static struct bpf_program *hook_program(const struct object *o, size_t i)
{
	return *(struct bpf_program **)((char *)o->skel + hook_rows[i].program_offset);
}

static const char *load_mend(int err)
{
	if (err == -EPERM)
		return "run as root with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; "
		       "Linux before 5.11 also needs RLIMIT_MEMLOCK";
	if (err == -ENOMEM)
		return "free some memory, or raise RLIMIT_MEMLOCK on Linux before 5.11";
	return "nej needs Linux 5.10 or newer with CONFIG_CGROUP_BPF=y; `nej doctor` says what is "
	       "missing";
}

/* The Unix-domain program is an object of its own: its kfuncs need kernel BTF, without which
 * nothing else in the same object would load. Maps are the sandbox's. */
static struct nej_unix *load_unix(struct object *o)
{
	struct nej_unix *skel;
	struct bpf_map *map;

	if (!probe_has_connect_unix())
		return NULL;
	skel = nej_unix__open();
	if (!skel)
		return NULL;
	bpf_program__set_type(skel->progs.nej_connect_unix, BPF_PROG_TYPE_CGROUP_SOCK_ADDR);
	bpf_program__set_expected_attach_type(
		skel->progs.nej_connect_unix, (enum bpf_attach_type)PROBE_ATTACH_UNIX_CONNECT);
	skel->rodata->nej_set_retval = o->skel->rodata->nej_set_retval;
	bpf_object__for_each_map(map, skel->obj)
	{
		int fd = bpf_object__find_map_fd_by_name(o->skel->obj, bpf_map__name(map));

		if (fd >= 0 && bpf_map__reuse_fd(map, fd) < 0) {
			nej_unix__destroy(skel);
			return NULL;
		}
	}
	if (nej_unix__load(skel) < 0) {
		nej_unix__destroy(skel);
		return NULL;
	}
	return skel;
}

int object_load(const char *name, struct object **ret, struct object_error *error)
{
	struct object *o;
	int r;

	if (!pins_is_name(name))
		return object_fail(error, -EINVAL, "use letters, digits, `-` and `_`, at most 63",
			"`%.64s` cannot name a sandbox", name);
	o = calloc(1, sizeof(*o));
	if (!o)
		return object_fail(error, -ENOMEM, load_mend(-ENOMEM), "out of memory");
	snprintf(o->name, sizeof(o->name), "%s", name);
	libbpf_says[0] = 0;
	libbpf_set_print(libbpf_listen);
	o->skel = nej_bpf__open();
	if (!o->skel) {
		r = -errno;
		free(o);
		return object_fail(
			error, r, load_mend(r), "the BPF object cannot be read: %s", strerror(-r));
	}
	o->skel->rodata->nej_set_retval = probe_has_set_retval();
	r = nej_bpf__load(o->skel);
	if (r < 0) {
		object_free(o);
		return object_fail(error, r, load_mend(r),
			"the kernel refuses a BPF program or map: %s (%s)", strerror(-r),
			libbpf_says);
	}
	*ret = o;
	return 0;
}

int object_load_unix(struct object *o)
{
	if (!o->unix_skel)
		o->unix_skel = load_unix(o);
	return o->unix_skel ? 0 : -EOPNOTSUPP;
}

/* --- attaching */

static int attach_fail(struct object_error *error, int err, const char *hook, const char *since)
{
	if (err == -EPERM)
		return object_fail(error, err,
			"find it with `bpftool cgroup tree`; or run as root with CAP_NET_ADMIN",
			"hook %s: refused; a cgroup above probably holds an exclusive program",
			hook);
	if (err == -E2BIG)
		return object_fail(error, err, "see `bpftool cgroup tree`",
			"hook %s: the cgroup already holds 64 programs", hook);
	return object_fail(error, err, "a newer kernel, or one with CONFIG_CGROUP_BPF=y",
		"hook %s: %s; it needs Linux %s, and 5.7 for links", hook, strerror(-err), since);
}

static int attach_one(struct object *o, size_t i, struct bpf_program *program, int cgroup_fd,
	const char *hook, const char *since, struct object_error *error)
{
	struct bpf_link *link = bpf_program__attach_cgroup(program, cgroup_fd);

	if (!link)
		return attach_fail(error, errno ? -errno : -EINVAL, hook, since);
	o->links[i] = link;
	return 0;
}

static int attach_all(struct object *o, int cgroup_fd, struct object_error *error)
{
	for (size_t i = 0; i < N_HOOKS; i++) {
		int r = attach_one(o, i, hook_program(o, i), cgroup_fd, hook_rows[i].hook,
			hook_rows[i].since, error);

		if (r < 0)
			return r;
	}
	if (!o->unix_skel)
		return 0;
	return attach_one(o, N_HOOKS, o->unix_skel->progs.nej_connect_unix, cgroup_fd, UNIX_HOOK,
		"6.7", error);
}

static void detach_all(struct object *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->links); i++) {
		bpf_link__destroy(o->links[i]);
		o->links[i] = NULL;
	}
}

bool object_is_attached(const struct object *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->links); i++) {
		struct bpf_link_info info = {0};
		uint32_t len = sizeof(info);

		if (o->links[i] &&
			(bpf_obj_get_info_by_fd(bpf_link__fd(o->links[i]), &info, &len) < 0 ||
				!info.cgroup.cgroup_id))
			return false;
	}
	return true;
}

static int pin_at(int fd, const char *dir, const char *name)
{
	char path[PINS_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return bpf_obj_pin(fd, path) < 0 ? -errno : 0;
}

static int pin_all(const struct object *o, const char *dir)
{
	char links[PINS_PATH_BYTES + 8];
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, o->skel->obj)
	{
		if (!bpf_map__is_internal(map))
			r = pin_at(bpf_map__fd(map), dir, bpf_map__name(map));
		if (r < 0)
			return r;
	}
	snprintf(links, sizeof(links), "%s/links", dir);
	for (size_t i = 0; i < ARRAY_SIZE(o->links) && !r; i++) {
		const char *name =
			i < N_HOOKS ? bpf_program__name(hook_program(o, i)) : "nej_connect_unix";

		if (o->links[i])
			r = pin_at(bpf_link__fd(o->links[i]), links, name);
	}
	return r;
}

int object_attach(struct object *o, int cgroup_fd, struct object_error *error)
{
	char dir[PINS_PATH_BYTES];
	int r;

	r = attach_all(o, cgroup_fd, error);
	if (r < 0) {
		detach_all(o);
		return r;
	}
	r = pins_begin(o->name, dir);
	if (!r)
		r = pin_all(o, dir);
	if (!r)
		r = pins_commit(o->name, dir);
	if (r < 0) {
		detach_all(o);
		pins_remove(dir);
		return object_fail(error, r, "is /sys/fs/bpf a mounted bpf file system?",
			"cannot pin below " NEJ_PIN_ROOT ": %s", strerror(-r));
	}
	o->is_pinned = true;
	return 0;
}

bool object_is_pinned(const char *name)
{
	return pins_are_live(name);
}

int object_unpin(const char *name)
{
	return pins_remove_name(name);
}

int object_collect(void)
{
	return pins_collect();
}

void object_release(struct object *o)
{
	if (!o)
		return;
	detach_all(o); /* closes the descriptors; pinned links stay in force */
	nej_unix__destroy(o->unix_skel);
	nej_bpf__destroy(o->skel);
	learned_done(&o->learned);
	free(o);
}

void object_free(struct object *o)
{
	if (o && o->is_pinned)
		object_unpin(o->name);
	object_release(o);
}

/* --- maps */

int object_map_fd(const struct object *o, const char *map)
{
	int fd = bpf_object__find_map_fd_by_name(o->skel->obj, map);

	return fd < 0 ? -ENOENT : fd;
}

int object_settings(struct object *o, const struct nej_settings *settings)
{
	int fd = bpf_map__fd(o->skel->maps.settings);
	struct nej_settings block = *settings;
	__u32 zero = 0;

	block.abi = NEJ_ABI_VERSION;
	if (!(o->settings.flags & NEJ_F_ACTIVE) && (block.flags & NEJ_F_ACTIVE)) {
		/* No program may see the flag beside ports that are not there yet. */
		block.flags = 0;
		if (bpf_map_update_elem(fd, &zero, &block, BPF_ANY) < 0)
			return -errno;
		block.flags = settings->flags;
	}
	if (bpf_map_update_elem(fd, &zero, &block, BPF_ANY) < 0)
		return -errno;
	o->settings = block;
	return 0;
}

const struct nej_settings *object_settings_now(const struct object *o)
{
	return &o->settings;
}

uint8_t object_begin_round(struct object *o)
{
	return ++o->round;
}

uint8_t object_round(const struct object *o)
{
	return o->round;
}

int object_tag(const struct object *o, int socket_fd, const struct nej_socket *value)
{
	int fd = bpf_map__fd(o->skel->maps.sockets);

	return bpf_map_update_elem(fd, &socket_fd, value, BPF_NOEXIST) < 0 ? -errno : 0;
}

int object_tag_read(const struct object *o, int socket_fd, struct nej_socket *ret)
{
	int fd = bpf_map__fd(o->skel->maps.sockets);

	return bpf_map_lookup_elem(fd, &socket_fd, ret) < 0 ? -errno : 0;
}

int object_retag(const struct object *o, int socket_fd, const struct nej_socket *value)
{
	int fd = bpf_map__fd(o->skel->maps.sockets);

	return bpf_map_update_elem(fd, &socket_fd, value, BPF_EXIST) < 0 ? -errno : 0;
}

struct learned *object_learned(struct object *o)
{
	return &o->learned;
}

int object_flows_fd(struct object *o)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	struct bpf_get_fd_by_id_opts opts = {.sz = sizeof(opts), .open_flags = BPF_F_RDONLY};
	int fd;

	if (bpf_obj_get_info_by_fd(bpf_map__fd(o->skel->maps.flows), &info, &len) < 0)
		return -errno;
	fd = bpf_map_get_fd_by_id_opts(info.id, &opts);
	return fd < 0 ? -errno : fd;
}

static int counters_read(int fd, uint64_t counts[NEJ_COUNTER_COUNT])
{
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ __u64 *values = NULL;

	if (n_cpus < 0)
		return n_cpus;
	values = calloc((size_t)n_cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (__u32 i = 0; i < NEJ_COUNTER_COUNT; i++) {
		if (bpf_map_lookup_elem(fd, &i, values) < 0)
			return -errno;
		counts[i] = 0;
		for (int cpu = 0; cpu < n_cpus; cpu++)
			counts[i] += values[cpu];
	}
	return 0;
}

int object_counters(struct object *o, uint64_t counts[NEJ_COUNTER_COUNT])
{
	return counters_read(bpf_map__fd(o->skel->maps.counters), counts);
}

/* Opens a map of another supervisor's sandbox, if it is of our version. */
static int open_pinned(
	const char *name, const char *map, __u32 value_bytes, __u32 entries, __u32 file_flags)
{
	struct bpf_obj_get_opts opts = {.sz = sizeof(opts), .file_flags = file_flags};
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	char path[PINS_PATH_BYTES];
	_cleanup_close_ int fd = -1;

	if (!pins_is_name(name))
		return -EINVAL;
	pins_map_path(name, map, path);
	fd = bpf_obj_get_opts(path, &opts);
	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
		return -errno;
	if (info.value_size != value_bytes || info.max_entries != entries)
		return -EPROTO;
	return TAKE_FD(fd);
}

int object_counters_pinned(const char *name, uint64_t counts[NEJ_COUNTER_COUNT])
{
	_cleanup_close_ int fd =
		open_pinned(name, "counters", sizeof(__u64), NEJ_COUNTER_COUNT, BPF_F_RDONLY);

	return fd < 0 ? fd : counters_read(fd, counts);
}

static int settings_read(int fd, struct nej_settings *ret)
{
	struct nej_settings settings;
	__u32 zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &settings) < 0)
		return -errno;
	if (settings.flags && settings.abi != NEJ_ABI_VERSION)
		return -EPROTO;
	*ret = settings;
	return 0;
}

int object_settings_pinned(const char *name, struct nej_settings *ret)
{
	_cleanup_close_ int fd = open_pinned(name, "settings", sizeof(*ret), 1, BPF_F_RDONLY);

	return fd < 0 ? fd : settings_read(fd, ret);
}

int object_halt_pinned(const char *name)
{
	struct nej_settings settings = {0};
	_cleanup_close_ int fd = open_pinned(name, "settings", sizeof(settings), 1, 0);
	int r = fd < 0 ? fd : settings_read(fd, &settings);
	__u32 zero = 0;

	if (r < 0 || !settings.flags || settings.flags & NEJ_F_HALTED)
		return r;
	settings.flags |= NEJ_F_HALTED;
	return bpf_map_update_elem(fd, &zero, &settings, BPF_ANY) < 0 ? -errno : 0;
}
