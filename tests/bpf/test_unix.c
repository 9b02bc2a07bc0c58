/* SPDX-License-Identifier: GPL-2.0-only */
/* Unix-domain sockets that lead out of a sandbox without a mount namespace of its own (Linux 6.7). */
#include "world.h"

#include <sys/un.h>

#include "../../user/base/loop.h"
#include "../../user/kernel/events.h"

static struct world world;
static char folder[64];

static int open_world(void **state)
{
	struct object_error error = {0};

	(void)state;
	world = (struct world){
		.proxy4 = -1, .proxy6 = -1, .eager4 = -1, .eager6 = -1, .stub4 = -1, .stub6 = -1};
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(link_set_up_lo(), 0);
	world_new_cgroup(&world);
	assert_int_equal(object_load(world.name, &world.object, &error), 0);
	assert_int_equal(object_load_unix(world.object), 0);
	assert_int_equal(object_attach(world.object, world.cgroup_fd, &error), 0);
	world_configure(&world, NEJ_F_ACTIVE | NEJ_F_UNIX_PRIVATE);
	snprintf(folder, sizeof(folder), "/tmp/nej-unix-%d", getpid());
	mkdir(folder, 0755);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	rmdir(folder);
	world_close(&world);
	return 0;
}

/* `@` stands for an abstract name's leading zero. */
static socklen_t unix_sockaddr(const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", name);
	if (name[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

struct unix_try {
	const char *cwd, *name;
};

static void try_unix(struct world_result *ret, void *arg)
{
	const struct unix_try *t = arg;
	struct sockaddr_un sa;
	socklen_t len = unix_sockaddr(t->name, &sa);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (chdir(t->cwd) < 0)
		ret->value = -errno;
	else
		ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static int connect_unix(const char *cwd, const char *name)
{
	struct unix_try t = {cwd, name};

	return world_run(&world, try_unix, &t).value;
}

static int serve(const char *name)
{
	struct sockaddr_un sa;
	socklen_t len = unix_sockaddr(name, &sa);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	unlink(sa.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void sockets_that_lead_out_are_refused(void **state)
{
	static const struct {
		const char *file;
		int want;
	} rows[] = {
		{"docker.sock", -EACCES},
		{"podman.sock", -EACCES},
		{"containerd.sock", -EACCES},
		{"system_bus_socket", -EACCES},
		{"io.systemd.Resolve", -EACCES},
		{"app.sock", 0},
		{"mydocker.sock", 0},
		{"docker.sock.mine", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, rows[i].file);
		fd = serve(path);
		assert_int_equal(connect_unix("/", path), rows[i].want);
		assert_int_equal(connect_unix(folder, rows[i].file), rows[i].want);
		snprintf(path, sizeof(path), "%s/./../%s/%s", folder, strrchr(folder, '/') + 1,
			rows[i].file);
		assert_int_equal(connect_unix("/", path), rows[i].want);
		close(fd);
		snprintf(path, sizeof(path), "%s/%s", folder, rows[i].file);
		unlink(path);
	}
	assert_true(world_count(&world, NEJ_REASON_FAMILY) >= 15);
}

static void abstract_names_that_lead_out_are_refused(void **state)
{
	int shim = serve("@/containerd-shim/test.sock"), own = serve("@nej-test-own");

	(void)state;
	assert_int_equal(connect_unix("/", "@/containerd-shim/test.sock"), -EACCES);
	assert_int_equal(connect_unix("/", "@nej-test-own"), 0);
	close(shim);
	close(own);
}

static char detail[96];

static void on_event(void *arg, const struct audit_event *event)
{
	(void)arg;
	snprintf(detail, sizeof(detail), "%.*s", (int)event->detail.len, event->detail.ptr);
}

static void refusal_names_the_socket(void **state)
{
	struct events *events;
	struct loop *loop;
	char path[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/docker.sock", folder);
	fd = serve(path);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(events_new(loop, world.object, on_event, NULL, &events), 0);
	assert_int_equal(connect_unix("/", path), -EACCES);
	events_drain(events);
	assert_string_equal(detail, "unix socket docker.sock");
	events_free(events);
	loop_free(loop);
	close(fd);
	unlink(path);
}

static void flag_switches_it_off(void **state)
{
	char path[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/docker.sock", folder);
	fd = serve(path);
	world_set_flags(&world, NEJ_F_ACTIVE);
	assert_int_equal(connect_unix("/", path), 0);
	close(fd);
	unlink(path);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(sockets_that_lead_out_are_refused),
		T(abstract_names_that_lead_out_are_refused),
		T(refusal_names_the_socket),
		T(flag_switches_it_off),
	};

	if (!is_root()) {
		puts("loading BPF programs needs root");
		return 77;
	}
	if (!probe_has_connect_unix()) {
		puts("this kernel has no cgroup/connect_unix (6.7)");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
