/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens what a gateway runs on, and closes it; see gateway_equip.h. */
#include "gateway_equip.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/file.h"
#include "../base/htab.h"
#include "../base/log.h"
#include "../base/num.h"
#include "../dns/resolve.h"
#include "../kernel/link.h"
#include "certificate.h"

#define DEFAULT_AUDIT "/var/log/nej/gateway.jsonl"
#define RUN_DIR "/run/nej/" GATEWAY_NAME
#define GATEWAY_UID 2000200000u /* behind the ranges of identity.h */
#define ROTATE_BYTES (256ull << 20)
#define ROTATE_KEEP 8
#define BACKLOG 1024
#define SEND_LIMIT_S 5

static int failed(int error, const char *what)
{
	log_error("%s: %s", what, strerror(-error));
	return GATEWAY_EXIT_FAILED;
}

/* --- listeners */

static int listen_at(const struct endpoint *at, int *ret_fd)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(at, &sa);
	_cleanup_close_ int fd =
		socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (sa.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_listeners(struct gateway *g)
{
	for (size_t i = 0; i < g->options->n_listen; i++) {
		char text[ENDPOINT_TEXT_BYTES];
		int r = listen_at(&g->options->listen[i], &g->listeners.fds[i]);

		if (r < 0)
			return failed(r, endpoint_print(&g->options->listen[i], text));
		g->listeners.has |= 1u << i;
	}
	return 0;
}

void gateway_close_listeners(struct gateway *g)
{
	for (size_t i = 0; i < HANDOFF_LISTENER_COUNT; i++) {
		cleanup_close(&g->listeners.fds[i]);
		g->listeners.fds[i] = -1;
	}
}

/* --- the log */

static int open_sink(struct gateway *g)
{
	struct audit_sink_options o = {
		.path = g->audit_path,
		.sandbox = GATEWAY_NAME,
		.key_path = AUDIT_KEY_PATH,
		.rotate_bytes = ROTATE_BYTES,
		.rotate_keep = ROTATE_KEEP,
		.n_policies = 2 * TENANTS_MAX + 128,
	};
	int r;

	if (!g->options->audit_path) {
		r = file_mkdirs("/var/log/nej", 0750);
		if (r < 0)
			return failed(r, "/var/log/nej");
	}
	r = audit_sink_open(&o, &g->sink);
	if (r == -EBUSY) {
		log_error("the audit log %s is written by another process", g->audit_path);
		return GATEWAY_EXIT_FAILED;
	}
	if (r < 0)
		return failed(r, g->audit_path);
	if (audit_sink_is_failed(g->sink)) {
		log_error("the audit log %s cannot be written", g->audit_path);
		return GATEWAY_EXIT_FAILED;
	}
	return 0;
}

/* Named after the log, whose lock is ours by now. What a dead gateway left in it is written, of whom
 * it was being lost. */
static int open_ring(struct gateway *g)
{
	const uint64_t key[2] = {0, 0};
	char path[PATH_MAX];
	bool is_leftover = false;
	int r = file_mkdirs(RUN_DIR, 0700);

	snprintf(path, sizeof(path), RUN_DIR "/%016llx.ring",
		(unsigned long long)hash_bytes_keyed(key, g->audit_path, strlen(g->audit_path)));
	if (r >= 0)
		r = audit_ring_create(path, &g->ring, &is_leftover);
	if (r < 0)
		return failed(r, path);
	while (is_leftover && audit_ring_has_more(g->ring))
		audit_sink_drain(g->sink, g->ring);
	g->plan.ring_fds[0] = audit_ring_fd(g->ring);
	return 0;
}

/* --- the worker */

static int find_uid(const char *user, uint32_t *ret)
{
	struct passwd *pw = user ? getpwnam(user) : NULL;
	uint64_t uid = GATEWAY_UID;

	if (pw)
		uid = pw->pw_uid;
	else if (user && num_parse_u64(user, strlen(user), UINT32_MAX - 1, &uid) < 0) {
		log_error("there is no user `%s`", user);
		return GATEWAY_EXIT_USAGE;
	}
	if (!uid) {
		log_error("the worker cannot be root");
		return GATEWAY_EXIT_USAGE;
	}
	*ret = (uint32_t)uid;
	return 0;
}

static int fill_addresses(const struct gateway *g, struct handoff *h)
{
	_cleanup_free_ struct addr *addrs = NULL;
	size_t n = 0;
	int r = link_addrs(&addrs, &n);

	if (r < 0 || n > HANDOFF_MAX_HOST_ADDRS)
		return r < 0 ? r : -E2BIG; /* one that is left out could be dialled */
	if (n)
		memcpy(h->host_addrs, addrs, n * sizeof(*addrs));
	h->n_host_addrs = (uint32_t)n;
	n = g->options->n_resolvers;
	memcpy(h->servers, g->options->resolvers, sizeof(h->servers));
	h->n_servers = (uint32_t)(n ? n : resolve_host_servers(h->servers, HANDOFF_MAX_SERVERS));
	return 0;
}

static int make_settings(struct gateway *g, uint32_t uid)
{
	struct handoff h = {.n_threads = 1, .uid = uid, .has_listener = g->listeners.has};
	int r = fill_addresses(g, &h), fd;

	if (r < 0)
		return failed(r, "cannot list this machine's addresses");
	fd = memfd_create("nej-settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	g->plan.settings_fd = fd;
	if (fd < 0 || write(fd, &h, sizeof(h)) != sizeof(h) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
			0)
		return failed(-errno, "the worker's settings");
	return 0;
}

/* The worker gets it sealed: only the mapping made here can write. */
static int make_state(struct gateway *g)
{
	int fd = memfd_create("nej-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p;

	g->plan.state_fd = fd;
	if (fd < 0 || ftruncate(fd, sizeof(*g->state)) < 0)
		return failed(-errno, "the worker's state");
	p = mmap(NULL, sizeof(*g->state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return failed(-errno, "the worker's state");
	g->state = p;
	if (fcntl(fd, F_ADD_SEALS,
		    F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return failed(-errno, "the worker's state");
	return 0;
}

static int make_nothing(struct gateway *g)
{
	static const char text[] = "version: 1\n";
	static struct err_list errs;
	int r;

	err_init(&errs, "");
	r = policy_load_text(text, sizeof(text) - 1, NULL, &errs, &g->nothing);
	if (r < 0)
		return failed(r, "the policy of strangers");
	g->plan.policy_fd = policy_fd(g->nothing);
	return 0;
}

static int make_plan(struct gateway *g)
{
	uint32_t uid;
	int r = find_uid(g->options->user, &uid);

	if (!r)
		r = make_settings(g, uid);
	if (!r)
		r = make_state(g);
	if (!r)
		r = make_nothing(g);
	if (r)
		return r;
	g->plan.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return g->plan.wake_fd < 0 ? failed(-errno, "eventfd") : 0;
}

int gateway_limit_sends(int control)
{
	const struct timeval limit = {.tv_sec = SEND_LIMIT_S};

	return setsockopt(control, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ? -errno : 0;
}

/* --- the certificate */

static int add_file(struct buf *b, const char *path, mode_t forbidden)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *data = NULL;
	struct stat st;
	size_t len = 0;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_mode & forbidden)
		return -EPERM;
	r = file_read_fd(fd, CERTIFICATE_MAX_BYTES / 2, &data, &len);
	if (r < 0)
		return r;
	buf_add(b, data, len);
	buf_add_char(b, '\n');
	explicit_bzero(data, len);
	free(data);
	return b->is_failed ? -ENOMEM : 0;
}

static int make_sealed(const struct buf *b, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("nej-certificate", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || file_write_fd(fd, b->data, b->len) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
			0)
		return -errno;
	lseek(fd, 0, SEEK_SET);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int gateway_read_pem(const struct gateway_options *o, int *ret_fd, const char **ret_what)
{
	struct buf pem;
	int r;

	*ret_fd = -1;
	if (!o->tls_cert)
		return 0;
	buf_init(&pem);
	buf_reserve(&pem, CERTIFICATE_MAX_BYTES); /* never moved, so wiped whole */
	*ret_what = o->tls_cert;
	r = add_file(&pem, o->tls_cert, 0);
	if (r >= 0) {
		*ret_what = o->tls_key;
		r = add_file(&pem, o->tls_key, 007);
	}
	if (r >= 0)
		r = make_sealed(&pem, ret_fd);
	if (pem.data)
		explicit_bzero(pem.data, pem.cap);
	buf_done(&pem);
	return r;
}

static int open_certificate(struct gateway *g)
{
	const char *what = "";
	int r = gateway_read_pem(g->options, &g->plan.secrets_fd, &what);

	if (r == -EPERM)
		log_error("%s: it must not be readable by others", what);
	return r == -EPERM ? GATEWAY_EXIT_FAILED : r < 0 ? failed(r, what) : 0;
}

/* --- records */

static struct audit_event event_of(enum audit_kind kind, uint32_t generation)
{
	return (struct audit_event){
		.kind = (uint8_t)kind,
		.layer = AUDIT_LAYER_GATEWAY,
		.rule = AUDIT_NO_RULE,
		.generation = generation,
		.count = 1,
		.time_us = clock_real_us(),
	};
}

static void add(const struct gateway *g, struct audit_event *e, struct buf *more)
{
	audit_sink_add_extra(g->sink, e, more->is_failed ? NULL : more->data);
	buf_done(more);
}

static void add_text(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "%s\"%s\":", b->len ? "," : "", key);
	buf_add_json(b, value, strlen(value), 4096);
}

static void record_start(const struct gateway *g)
{
	struct audit_event e = event_of(AUDIT_SANDBOX_STARTED, 0);
	char text[ENDPOINT_TEXT_BYTES];
	struct buf more;

	buf_init(&more);
	add_text(&more, "version", NEJ_VERSION);
	add_text(&more, "policies", g->options->policies);
	for (size_t i = 0; i < g->options->n_listen; i++) {
		buf_add_str(&more, i ? ",\"" : ",\"listen\":[\"");
		buf_add_str(&more, endpoint_print(&g->options->listen[i], text));
		buf_add_char(&more, '"');
	}
	buf_add_char(&more, ']');
	add(g, &e, &more);
}

void gateway_record_policy(const struct gateway *g, const struct tenant *t)
{
	struct audit_event e = event_of(AUDIT_POLICY_LOADED, t->generation);
	struct buf more;

	buf_init(&more);
	add_text(&more, "path", t->path);
	if (t->policy)
		add_text(&more, "sha256", policy_sha256(t->policy));
	buf_printf(&more, ",\"generation\":%u", t->generation);
	if (!t->policy) {
		e.reason = NEJ_REASON_POLICY_UNAVAILABLE;
		e.detail = (struct audit_text){t->why, (uint32_t)strlen(t->why)};
	}
	add(g, &e, &more);
}

void gateway_record_worker(const struct gateway *g)
{
	struct audit_event e = event_of(AUDIT_WORKER_RESTARTED, 0);
	static const char detail[] = "it had ended";

	e.detail = (struct audit_text){detail, sizeof(detail) - 1};
	audit_sink_add(g->sink, &e);
}

void gateway_record_end(const struct gateway *g)
{
	struct audit_event e = event_of(AUDIT_SANDBOX_FINISHED, 0);

	audit_sink_add(g->sink, &e);
}

void gateway_say_ready(const struct gateway *g, size_t n_sandboxes)
{
	char text[ENDPOINT_TEXT_BYTES];

	for (size_t i = 0; i < g->options->n_listen; i++)
		log_notice("listen=%s%s sandboxes=%zu audit=%s",
			g->options->tls_cert ? "https://" : "http://",
			endpoint_print(&g->options->listen[i], text), n_sandboxes, g->audit_path);
}

/* --- all of it */

static int open_all(struct gateway *g)
{
	int r = open_listeners(g);

	if (!r)
		r = open_sink(g);
	if (!r)
		r = open_ring(g);
	if (!r)
		r = make_plan(g);
	if (!r)
		r = open_certificate(g);
	if (!r)
		record_start(g);
	return r;
}

int gateway_open(const struct gateway_options *options, struct gateway *g)
{
	int r;

	*g = (struct gateway){
		.options = options,
		.worker = {.pidfd = -1, .control = -1},
		.plan = {.command = GATEWAY_COMMAND,
			.name = GATEWAY_NAME,
			.settings_fd = -1,
			.state_fd = -1,
			.policy_fd = -1,
			.wake_fd = -1,
			.secrets_fd = -1,
			.grants_fd = -1,
			.roots_fd = -1,
			.meters_fd = -1,
			.listeners = &g->listeners},
	};
	memset(g->plan.ring_fds, -1, sizeof(g->plan.ring_fds));
	memset(g->listeners.fds, -1, sizeof(g->listeners.fds));
	snprintf(g->audit_path, sizeof(g->audit_path), "%s",
		options->audit_path ? options->audit_path : DEFAULT_AUDIT);
	if (geteuid() != 0) {
		log_error("must be root: the folder of policies and the worker's own user are its");
		return GATEWAY_EXIT_FAILED;
	}
	r = open_all(g);
	if (r)
		gateway_close(g);
	return r;
}

void gateway_close(struct gateway *g)
{
	gateway_close_listeners(g);
	audit_sink_close(g->sink);
	audit_ring_close(g->ring);
	if (g->state)
		munmap(g->state, sizeof(*g->state));
	policy_free(g->nothing);
	cleanup_close(&g->plan.settings_fd);
	cleanup_close(&g->plan.state_fd);
	cleanup_close(&g->plan.wake_fd);
	cleanup_close(&g->plan.secrets_fd);
}
