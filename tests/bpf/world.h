/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sandbox without nej's supervisor: a cgroup, a network namespace of the test's own, the real BPF
 * object attached, listeners where proxy and stub would be. Children run inside, the test itself
 * outside. Header only, since each test program is one file.
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "../../user/base/addr.h"
#include "../../user/base/cleanup.h"
#include "../../user/base/file.h"
#include "../../user/kernel/link.h"
#include "../../user/kernel/object.h"
#include "../../user/kernel/origin.h"
#include "../../user/kernel/probe.h"

#define PROXY_PORT 3128
#define EAGER_PORT 3129
#define STUB_PORT 4053
#define SANDBOX_UID 54321

/* What a refused call returns: before bpf_set_retval (Linux 5.18) always EPERM. */
#define DENIED denied(EACCES)
#define UNSUPPORTED denied(EPROTONOSUPPORT)

static inline int denied(int error)
{
	static int has_retval = -1;

	if (has_retval < 0)
		has_retval = probe_has_set_retval();
	return has_retval ? -error : -EPERM;
}

struct world {
	char name[32];
	char cgroup[512];
	int cgroup_fd;
	struct object *object;
	struct nej_settings settings;
	int proxy4, proxy6, eager4, eager6, stub4, stub6; /* -1: not opened */
};

/* What a child inside leaves behind. */
struct world_result {
	int value;
	int more[8];
	char text[256];
	struct sockaddr_in6 addr;
};

static inline int world_mkdir(const char *path)
{
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static inline void world_new_cgroup(struct world *w)
{
	char root[256];

	assert_int_equal(probe_cgroup2(root, sizeof(root)), 0);
	snprintf(w->name, sizeof(w->name), "test-%d", getpid());
	snprintf(w->cgroup, sizeof(w->cgroup), "%s/nej-%s", root, w->name);
	assert_int_equal(world_mkdir(w->cgroup), 0);
	w->cgroup_fd = open(w->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->cgroup_fd >= 0);
}

static inline int world_listen(int family, int type, uint16_t port)
{
	struct endpoint at = {.port = port};
	struct sockaddr_storage sa;
	socklen_t len;
	int fd = socket(family, type | SOCK_CLOEXEC, 0), one = 1;

	assert_true(fd >= 0);
	assert_int_equal(addr_parse(family == AF_INET ? "127.0.0.1" : "::1",
				 family == AF_INET ? 9 : 3, &at.addr),
		0);
	len = endpoint_to_sockaddr(&at, &sa);
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 4096), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static inline void world_configure(struct world *w, uint32_t flags)
{
	struct stat st;

	fstat(w->cgroup_fd, &st);
	w->settings = (struct nej_settings){
		.generation = 1,
		.flags = flags,
		.cgroup_id = st.st_ino,
		.proxy_port_be = htons(PROXY_PORT),
		.eager_port_be = htons(EAGER_PORT),
		.stub_port_be = htons(STUB_PORT),
		.deny_errno = EACCES,
	};
	assert_int_equal(object_settings(w->object, &w->settings), 0);
}

static inline void world_set_flags(struct world *w, uint32_t flags)
{
	w->settings.flags = flags;
	assert_int_equal(object_settings(w->object, &w->settings), 0);
}

static inline void world_add_port(struct world *w, uint16_t port, uint32_t flags)
{
	struct nej_port_key key = {.proto = IPPROTO_TCP, .port_be = htons(port)};
	struct nej_port value = {.flags = flags};

	assert_int_equal(
		bpf_map_update_elem(object_map_fd(w->object, "ports"), &key, &value, 0), 0);
}

static inline void world_allow4(
	struct world *w, const char *addr, uint8_t proto, uint16_t port, uint64_t expiry_ns)
{
	struct nej_allow4_key key = {.prefix_bits = 64, .proto = proto, .port_be = htons(port)};
	struct nej_allow value = {
		.verdict = NEJ_PASS, .is_private_ok = 1, .rule = 7, .expiry_ns = expiry_ns};

	assert_int_equal(inet_pton(AF_INET, addr, key.addr), 1);
	assert_int_equal(
		bpf_map_update_elem(object_map_fd(w->object, "allow4"), &key, &value, 0), 0);
}

/* A namespace with lo alone, the object attached, nothing configured yet. */
static inline void world_open_bare(struct world *w)
{
	struct object_error error = {0};

	*w = (struct world){
		.proxy4 = -1, .proxy6 = -1, .eager4 = -1, .eager6 = -1, .stub4 = -1, .stub6 = -1};
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(link_set_up_lo(), 0);
	world_new_cgroup(w);
	if (object_load(w->name, &w->object, &error) < 0)
		fail_msg("%s", error.what);
	if (object_attach(w->object, w->cgroup_fd, &error) < 0)
		fail_msg("%s", error.what);
}

static inline void world_open_listeners(struct world *w)
{
	w->proxy4 = world_listen(AF_INET, SOCK_STREAM, PROXY_PORT);
	w->proxy6 = world_listen(AF_INET6, SOCK_STREAM, PROXY_PORT);
	w->eager4 = world_listen(AF_INET, SOCK_STREAM, EAGER_PORT);
	w->eager6 = world_listen(AF_INET6, SOCK_STREAM, EAGER_PORT);
	w->stub4 = world_listen(AF_INET, SOCK_DGRAM, STUB_PORT);
	w->stub6 = world_listen(AF_INET6, SOCK_DGRAM, STUB_PORT);
}

static inline void world_open(struct world *w, uint32_t flags)
{
	world_open_bare(w);
	world_open_listeners(w);
	world_configure(w, NEJ_F_ACTIVE | flags);
	world_add_port(w, 443, NEJ_PORT_PROXY);
	world_add_port(w, 80, NEJ_PORT_PROXY);
	world_add_port(w, 22, NEJ_PORT_PROXY | NEJ_PORT_EAGER);
}

static inline void world_close(struct world *w)
{
	int fds[] = {w->proxy4, w->proxy6, w->eager4, w->eager6, w->stub4, w->stub6, w->cgroup_fd};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	object_free(w->object);
	rmdir(w->cgroup);
}

static inline void world_enter(const struct world *w)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", w->cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(99);
	close(fd);
}

/* Runs fn in a child inside the cgroup; as root or as another user. */
static inline struct world_result world_run_as(
	struct world *w, uid_t uid, void (*fn)(struct world_result *ret, void *arg), void *arg)
{
	struct world_result *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct world_result result;
	pid_t pid;
	int status;

	assert_ptr_not_equal(shared, MAP_FAILED);
	shared->value = -ECHILD;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		world_enter(w);
		if (uid && setresuid(uid, uid, uid) < 0)
			_exit(98);
		fn(shared, arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	result = *shared;
	munmap(shared, sizeof(*shared));
	return result;
}

static inline struct world_result world_run(
	struct world *w, void (*fn)(struct world_result *ret, void *arg), void *arg)
{
	return world_run_as(w, 0, fn, arg);
}

/* --- addresses */

struct target {
	const char *addr; /* IPv4, IPv6; `::ffff:…` stays an IPv6 socket */
	uint16_t port;
	int family; /* 0: by the text */
	int type;   /* 0: SOCK_STREAM */
	int protocol;
};

static inline int target_family(const struct target *t)
{
	return t->family ? t->family : strchr(t->addr, ':') ? AF_INET6 : AF_INET;
}

static inline socklen_t target_sockaddr(const struct target *t, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (strchr(t->addr, ':')) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(t->port);
		inet_pton(AF_INET6, t->addr, &in6->sin6_addr);
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(t->port);
	inet_pton(AF_INET, t->addr, &in->sin_addr);
	return sizeof(*in);
}

static inline int target_socket(const struct target *t)
{
	int fd = socket(
		target_family(t), (t->type ? t->type : SOCK_STREAM) | SOCK_CLOEXEC, t->protocol);

	return fd < 0 ? -errno : fd;
}

/* connect(): value 0 or -errno; addr is what getpeername says after. */
static inline void try_connect(struct world_result *ret, void *arg)
{
	const struct target *t = arg;
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(t, &sa), peer_len = sizeof(ret->addr);
	int fd = target_socket(t);

	if (fd < 0) {
		ret->value = fd;
		return;
	}
	ret->value = connect(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	if (!ret->value)
		getpeername(fd, (struct sockaddr *)&ret->addr, &peer_len);
}

/* sendto() of `canary` on a fresh datagram socket: value 0 or -errno. */
static inline void try_sendto(struct world_result *ret, void *arg)
{
	struct target t = *(const struct target *)arg;
	struct sockaddr_storage sa;
	socklen_t len = target_sockaddr(&t, &sa);
	int fd;

	t.type = t.type ? t.type : SOCK_DGRAM;
	fd = target_socket(&t);
	if (fd < 0)
		ret->value = fd;
	else
		ret->value =
			sendto(fd, "canary", 6, 0, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

/* Accepts what waits and finds its origin. 0, -EAGAIN when nobody came, -ENOENT on a miss. */
static inline int world_accept(struct world *w, int listener, struct nej_origin *ret)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct endpoint client;
	int fd = accept4(listener, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&sa, &client), 0);
	return origin_find(object_map_fd(w->object, "flows"), &client, ret);
}

static inline const char *dest_text(const struct nej_dest *d, char out[ENDPOINT_TEXT_BYTES])
{
	struct endpoint e = {.port = ntohs(d->port_be)};

	memcpy(e.addr.b, d->addr, sizeof(e.addr.b));
	return endpoint_print(&e, out);
}

/* fn asks for 93.184.216.34:443 in some way and must end at the proxy. */
static inline void world_expect_arrival(
	struct world *w, void (*fn)(struct world_result *ret, void *arg), void *arg)
{
	char text[ENDPOINT_TEXT_BYTES];
	struct nej_origin origin;
	struct world_result r = world_run(w, fn, arg);

	if (r.value)
		fail_msg("%s", strerror(-r.value));
	assert_int_equal(world_accept(w, w->proxy4, &origin), 0);
	assert_string_equal(dest_text(&origin.dest, text), "93.184.216.34:443");
}

static inline uint64_t world_count(struct world *w, int counter)
{
	uint64_t counts[NEJ_COUNTER_COUNT];

	assert_int_equal(object_counters(w->object, counts), 0);
	return counts[counter];
}

static inline bool is_root(void)
{
	return geteuid() == 0;
}

#endif
