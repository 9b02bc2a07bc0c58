/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading, attaching, pinning: all hooks or none, and what stays when a supervisor dies. */
#include "world.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/vfs.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

static struct world world;

/* Seams: these stand in front of libbpf's functions of the same name and fail on demand. */
static int fail_attach_at = -1, n_attached, fail_pin_at = -1, n_pinned, fail_with = EPERM;

struct bpf_link *bpf_program__attach_cgroup(const struct bpf_program *prog, int cgroup_fd)
{
	struct bpf_link *(*real)(const struct bpf_program *, int) =
		(struct bpf_link * (*)(const struct bpf_program *, int))
			dlsym(RTLD_NEXT, "bpf_program__attach_cgroup");

	if (n_attached++ == fail_attach_at) {
		errno = fail_with;
		return NULL;
	}
	return real(prog, cgroup_fd);
}

int bpf_obj_pin(int fd, const char *path)
{
	int (*real)(int, const char *) =
		(int (*)(int, const char *))dlsym(RTLD_NEXT, "bpf_obj_pin");

	if (n_pinned++ == fail_pin_at) {
		errno = fail_with;
		return -1;
	}
	return real(fd, path);
}

static int open_bare(void **state)
{
	struct object_error error = {0};

	(void)state;
	world = (struct world){
		.proxy4 = -1, .proxy6 = -1, .eager4 = -1, .eager6 = -1, .stub4 = -1, .stub6 = -1};
	fail_attach_at = fail_pin_at = -1;
	n_attached = n_pinned = 0;
	fail_with = EPERM;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(link_set_up_lo(), 0);
	world_new_cgroup(&world);
	assert_int_equal(object_load(world.name, &world.object, &error), 0);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	world_close(&world);
	return 0;
}

static int count_programs(void)
{
	uint32_t ids[64], flags = 0, n_all = 0;

	for (int type = 0; type < 50; type++) {
		uint32_t n = ARRAY_SIZE(ids);

		if (bpf_prog_query(
			    world.cgroup_fd, (enum bpf_attach_type)type, 0, &flags, ids, &n) == 0)
			n_all += n;
	}
	return (int)n_all;
}

/* The kernel frees a link's last reference on a worker of its own. */
static void wait_for_programs(int n)
{
	for (int i = 0; i < 300 && count_programs() != n; i++)
		usleep(10000);
	assert_int_equal(count_programs(), n);
}

static int count_pins(const char *below)
{
	char path[512];
	struct dirent *e;
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), NEJ_PIN_ROOT "/%s%s", world.name, below);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void every_hook_is_attached_and_pinned(void **state)
{
	struct object_error error = {0};

	(void)state;
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	assert_int_equal(count_programs(), 14);
	assert_int_equal(count_pins("/links"), 14);
	assert_int_equal(count_pins(""), 11); /* ten maps and the links */
	assert_true(object_is_pinned(world.name));
}

static void any_hook_that_fails_leaves_nothing_behind(void **state)
{
	(void)state;
	for (int at = 0; at < 14; at++) {
		struct object_error error = {0};

		fail_attach_at = at;
		n_attached = 0;
		assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), -EPERM);
		assert_non_null(strstr(error.what, "exclusive program"));
		assert_non_null(strstr(error.mend, "bpftool cgroup tree"));
		assert_int_equal(count_programs(), 0);
		assert_int_equal(count_pins(""), 0);
		assert_false(object_is_pinned(world.name));
	}
	fail_attach_at = 3;
	n_attached = 0;
	fail_with = EINVAL;
	struct object_error error = {0};

	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), -EINVAL);
	assert_non_null(strstr(error.what, "cgroup/connect4"));
	assert_non_null(strstr(error.what, "4.17"));
}

static void pin_that_fails_leaves_nothing_behind(void **state)
{
	(void)state;
	for (int at = 0; at < 23; at += 4) {
		struct object_error error = {0};

		fail_pin_at = at;
		n_pinned = 0;
		assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), -EPERM);
		wait_for_programs(0);
		assert_int_equal(count_pins(""), 0);
	}
}

/* A program of the old, exclusive kind on a cgroup above. */
static void exclusive_program_above_is_named(void **state)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_CGROUP_INET4_CONNECT);
	int prog = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "test", "GPL", insns, 2, &opts);
	struct object_error error = {0};
	char child[600];
	int child_fd;

	(void)state;
	assert_int_equal(bpf_prog_attach(prog, world.cgroup_fd, BPF_CGROUP_INET4_CONNECT, 0), 0);
	snprintf(child, sizeof(child), "%s/inner", world.cgroup);
	assert_int_equal(mkdir(child, 0755), 0);
	child_fd = open(child, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(object_attach(world.object, child_fd, &error), -EPERM);
	assert_non_null(strstr(error.what, "cgroup/connect4"));
	assert_non_null(strstr(error.what, "exclusive"));
	close(child_fd);
	rmdir(child);
	bpf_prog_detach2(prog, world.cgroup_fd, BPF_CGROUP_INET4_CONNECT);
	close(prog);
}

static void bad_name_is_refused(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "a.b", "a b", "a+b",
		"0123456789012345678901234567890123456789012345678901234567890123456789"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct object_error error = {0};
		struct object *o;

		assert_int_equal(object_load(names[i], &o, &error), -EINVAL);
		assert_int_equal(object_unpin(names[i]), -EINVAL);
	}
}

static void try_tcp(struct world_result *ret, void *arg)
{
	struct target t = {.addr = "93.184.216.34", .port = 443};

	(void)arg;
	try_connect(ret, &t);
}

/* A supervisor that is killed: its hooks stay, and the next start takes them over without a gap. */
static void killed_supervisor_leaves_the_hooks_in_force(void **state)
{
	struct object_error error = {0};
	uint64_t counts[NEJ_COUNTER_COUNT];
	struct nej_settings settings;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		struct object *o;

		if (object_load(world.name, &o, &error) < 0 ||
			object_attach(o, world.cgroup_fd, &error) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_true(object_is_pinned(world.name));
	assert_int_equal(count_programs(), 14);
	assert_int_equal(world_run(&world, try_tcp, NULL).value, DENIED);
	assert_int_equal(object_counters_pinned(world.name, counts), 0);
	assert_true(counts[NEJ_REASON_INTERNAL] > 0);
	assert_int_equal(object_settings_pinned(world.name, &settings), 0);
	assert_int_equal(settings.flags, 0);

	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	assert_true(count_programs() >= 14);
	wait_for_programs(14); /* until the kernel's worker has freed the old ones both decide */
	world_configure(&world, NEJ_F_ACTIVE | NEJ_F_OWN_NETNS);
	assert_int_equal(object_settings_pinned(world.name, &settings), 0);
	assert_int_equal(settings.generation, 1);
	assert_int_equal(settings.abi, NEJ_ABI_VERSION);
}

static void released_object_stays_in_force_until_unpinned(void **state)
{
	struct object_error error = {0};

	(void)state;
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	object_release(world.object);
	world.object = NULL;
	assert_int_equal(count_programs(), 14);
	assert_int_equal(object_unpin(world.name), 0);
	wait_for_programs(0);
	assert_int_equal(object_unpin(world.name), 0);
	assert_false(object_is_pinned(world.name));
}

static void pins_of_a_removed_cgroup_are_collected(void **state)
{
	struct object_error error = {0};
	struct stat st;

	(void)state;
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	object_collect();
	assert_true(object_is_pinned(world.name)); /* the living are left alone */
	object_release(world.object);
	world.object = NULL;
	close(world.cgroup_fd);
	world.cgroup_fd = -1;
	assert_int_equal(rmdir(world.cgroup), 0);
	for (int i = 0; i < 100 && object_is_pinned(world.name); i++)
		usleep(10000);
	assert_false(object_is_pinned(world.name));
	assert_true(object_collect() >= 1);
	assert_int_equal(count_pins(""), 0);
	assert_int_equal(stat(NEJ_PIN_ROOT, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void other_cgroups_do_not_notice(void **state)
{
	struct object_error error = {0};
	struct target t = {.addr = "127.0.0.1", .port = 4444};
	struct world_result r = {0};

	(void)state;
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	try_connect(&r, &t); /* the test itself is outside */
	assert_int_equal(r.value, -ECONNREFUSED);
}

/* A sandbox's child cgroups are the sandbox. */
static void nested_cgroup_is_confined(void **state)
{
	struct object_error error = {0};
	struct world nested;
	char path[600];

	(void)state;
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	nested = world;
	snprintf(path, sizeof(path), "%.500s/inner", world.cgroup);
	snprintf(nested.cgroup, sizeof(nested.cgroup), "%.511s", path);
	assert_int_equal(mkdir(nested.cgroup, 0755), 0);
	assert_int_equal(world_run(&nested, try_tcp, NULL).value, DENIED);
	rmdir(nested.cgroup);
}

static void flows_descriptor_is_read_only(void **state)
{
	struct nej_flow_key key = {0};
	struct nej_origin origin = {0};
	int fd = object_flows_fd(world.object);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &key, &origin), -ENOENT);
	assert_int_equal(bpf_map_update_elem(fd, &key, &origin, BPF_ANY), -EPERM);
	close(fd);
}

/* What bpftool prints and what the programs use is what abi.h says. */
static void maps_carry_named_fields_of_the_same_layout(void **state)
{
	static const struct {
		const char *map, *value;
		size_t key_bytes, value_bytes;
	} rows[] = {
		{"settings", "nej_settings", 4, sizeof(struct nej_settings)},
		{"allow4", "nej_allow", sizeof(struct nej_allow4_key), sizeof(struct nej_allow)},
		{"grants", "nej_grant", sizeof(uint32_t), sizeof(struct nej_grant)},
		{"allow6", "nej_allow", sizeof(struct nej_allow6_key), sizeof(struct nej_allow)},
		{"ports", "nej_port", sizeof(struct nej_port_key), sizeof(struct nej_port)},
		{"sockets", "nej_socket", 4, sizeof(struct nej_socket)},
		{"flows", "nej_origin", sizeof(struct nej_flow_key), sizeof(struct nej_origin)},
		{"folds", "nej_fold", sizeof(struct nej_fold_key), sizeof(struct nej_fold)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bpf_map_info info = {0};
		uint32_t len = sizeof(info);
		const struct btf_type *type;
		struct btf *btf;

		assert_int_equal(bpf_obj_get_info_by_fd(
					 object_map_fd(world.object, rows[i].map), &info, &len),
			0);
		assert_int_equal(info.key_size, rows[i].key_bytes);
		assert_int_equal(info.value_size, rows[i].value_bytes);
		btf = btf__load_from_kernel_by_id(info.btf_id);
		assert_non_null(btf);
		type = btf__type_by_id(btf, info.btf_value_type_id);
		assert_string_equal(btf__name_by_offset(btf, type->name_off), rows[i].value);
		btf__free(btf);
	}
	assert_int_equal(object_map_fd(world.object, "nonsense"), -ENOENT);
}

static void settings_become_active_at_once(void **state)
{
	(void)state;
	world_configure(&world, NEJ_F_ACTIVE | NEJ_F_HALTED);
	assert_int_equal(object_settings_now(world.object)->flags, NEJ_F_ACTIVE | NEJ_F_HALTED);
	assert_int_equal(object_settings_now(world.object)->abi, NEJ_ABI_VERSION);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_bare, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_hook_is_attached_and_pinned),
		T(any_hook_that_fails_leaves_nothing_behind),
		T(pin_that_fails_leaves_nothing_behind),
		T(exclusive_program_above_is_named),
		T(bad_name_is_refused),
		T(killed_supervisor_leaves_the_hooks_in_force),
		T(released_object_stays_in_force_until_unpinned),
		T(pins_of_a_removed_cgroup_are_collected),
		T(other_cgroups_do_not_notice),
		T(nested_cgroup_is_confined),
		T(flows_descriptor_is_read_only),
		T(maps_carry_named_fields_of_the_same_layout),
		T(settings_become_active_at_once),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
