/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: every sandbox has a proxy of its own (policy, generation, quota), all on one
 * loop. The front asks find() whose a first request is; who cannot be told gets the stranger's proxy,
 * which admits nobody, so that refusals and records are made in one place. Every later request on the
 * connection must carry the same credentials. A sandbox whose policy cannot be used is refused by
 * may_pass; one whose password changed, or that is gone, is cut off.
 */
#include "gatehouse.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../proxy/front.h"
#include "../tls/hmac.h"
#include "../wire/basic.h"
#include "certificate.h"
#include "companion.h"
#include "isolate.h"
#include "shed.h"

#define EXIT_BROKEN 1
#define LEAVE_POLL_MS 100

struct house;

struct resident {
	struct resident *next;
	struct house *house;
	char name[TENANT_NAME_BYTES];
	char hash[TENANT_HASH_BYTES];
	struct policy *policy;         /* NULL: none that can be used */
	const struct policy *in_force; /* that, or one that denies everything */
	uint32_t generation;
	struct quota *quota;
	struct proxy *proxy;
};

struct house {
	const struct handoff *handoff;
	const struct handoff_state *state;
	struct policy *nothing; /* denies everything */
	struct loop *loop;
	struct resolve *resolve;
	struct audit_ring *ring;
	struct front *front;
	struct certificate *certificate; /* NULL: plain HTTP */
	struct loop_io control;
	struct loop_timer leave;
	struct resident *first; /* the stranger is the last */
	struct resident stranger;
};

/* --- who is it? */

/* The stranger when there is none. Goes through all of them, so that how long it takes says nothing
 * of which there are. */
static struct resident *find_name(struct house *h, const char *name)
{
	struct resident *found = &h->stranger;

	for (struct resident *r = h->first; r != &h->stranger; r = r->next)
		if (strcmp(r->name, name) == 0)
			found = r;
	return found;
}

/* Two fields of this name are nobody's. */
static bool find_field(const struct http1_head *head, struct http1_text *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < head->n_fields; i++)
		if (head->fields[i].id == HTTP1_NAME_PROXY_AUTHORIZATION) {
			*ret = head->fields[i].value;
			n++;
		}
	return n == 1;
}

/* An unknown name takes as long as a wrong password: something is hashed and compared either way. */
static struct resident *identify(struct house *h, const struct http1_head *head)
{
	static const char no_hash[TENANT_HASH_BYTES] =
		"0000000000000000000000000000000000000000000000000000000000000000";
	struct resident *r = &h->stranger;
	struct http1_text field;
	struct basic b;
	char hash[TENANT_HASH_BYTES];

	if (find_field(head, &field) && basic_parse(field, &b) == 0 &&
		hmac_hash(b.password, b.password_len, hash) == 0) {
		struct resident *named = find_name(h, b.name);
		const char *want = named->hash[0] ? named->hash : no_hash;

		if (hmac_equal(want, hash, TENANT_HASH_BYTES - 1) && want != no_hash)
			r = named;
	}
	explicit_bzero(&b, sizeof(b));
	return r;
}

static struct proxy *find(void *arg, const struct http1_head *head)
{
	struct house *h = arg;

	return head ? identify(h, head)->proxy : h->stranger.proxy;
}

static bool admits(void *arg, const struct http1_head *head)
{
	struct resident *r = arg;

	return r != &r->house->stranger && identify(r->house, head) == r;
}

static enum nej_reason may_pass(void *arg)
{
	struct resident *r = arg;

	if (!r->policy)
		return NEJ_REASON_POLICY_UNAVAILABLE;
	if (!policy_fails_closed(r->policy))
		return NEJ_REASON_NONE;
	return (enum nej_reason)atomic_load_explicit(
		&r->house->state->refuse, memory_order_relaxed);
}

/* --- residents */

static int make_proxy(struct house *h, struct resident *r)
{
	struct proxy_options o = {
		.loop = h->loop,
		.policy = &r->in_force,
		.generation = &r->generation,
		.resolve = h->resolve,
		.ring = h->ring,
		.flows_fd = HANDOFF_FD_WAKE, /* any descriptor, to be copied and given up */
		.host_addrs = h->handoff->host_addrs,
		.n_host_addrs = h->handoff->n_host_addrs,
		.may_pass = may_pass,
		.admits = admits,
		.arg = r,
		.is_gateway = true,
	};
	int result = quota_new(&r->quota);

	o.quota = r->quota;
	r->house = h;
	r->in_force = h->nothing;
	return result < 0 ? result : proxy_new(&o, &r->proxy);
}

static void resident_free(struct resident *r)
{
	if (!r)
		return;
	proxy_free(r->proxy);
	quota_free(r->quota);
	policy_free(r->policy);
	explicit_bzero(r->hash, sizeof(r->hash));
	free(r);
}

DEFINE_CLEANUP(struct resident, resident_free);

static struct resident *add_resident(struct house *h, const char *name)
{
	_cleanup_(resident_free_ptr)
	struct resident *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	memcpy(r->name, name, sizeof(r->name));
	if (make_proxy(h, r) < 0)
		return NULL;
	r->next = h->first;
	h->first = r;
	return TAKE_PTR(r);
}

static void on_gone(struct house *h, const struct gatehouse_message *m)
{
	struct resident *r = find_name(h, m->name), **at = &h->first;

	if (r == &h->stranger)
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	resident_free(r);
}

/* A policy that does not come through is none, and a sandbox there is no memory for a stranger. */
static void on_set(struct house *h, const struct gatehouse_message *m, int fd)
{
	struct resident *r = find_name(h, m->name);
	struct policy *old, *policy = NULL;
	bool is_same_password;
	int result = m->has_policy ? policy_map(fd, &policy) : 0;

	if (result < 0)
		log_error(
			"sandbox=%s: its policy cannot be mapped: %s", m->name, strerror(-result));
	if (r == &h->stranger)
		r = add_resident(h, m->name);
	if (!r) {
		policy_free(policy);
		log_error("sandbox=%s: out of memory: not served", m->name);
		return;
	}
	is_same_password = hmac_equal(r->hash, m->hash, sizeof(r->hash));
	memcpy(r->hash, m->hash, sizeof(r->hash));
	old = r->policy;
	r->policy = policy;
	r->in_force = policy ? policy : h->nothing;
	if (!is_same_password || !policy)
		proxy_cut(r->proxy); /* with the generation that decided, for their last records */
	r->generation = m->generation;
	proxy_review(r->proxy);
	quota_review(r->quota, r->in_force);
	policy_free(old);
}

/* --- the certificate */

static int take_certificate(struct house *h, int fd, const char **ret_what)
{
	int r = certificate_read(&h->certificate, fd, ret_what);

	if (r >= 0 && h->certificate)
		front_set_tls(h->front, certificate_io(h->certificate));
	return r;
}

static void on_certificate(struct house *h, int fd)
{
	const char *what;
	int r = take_certificate(h, fd, &what);

	if (r < 0)
		log_error("the old certificate stays: %s: %s", what, strerror(-r));
}

/* --- the supervisor's words */

static void on_leave_timer(struct loop_timer *timer)
{
	struct house *h = CONTAINER_OF(timer, struct house, leave);
	size_t n = front_count(h->front);

	for (struct resident *r = h->first; r; r = r->next)
		n += proxy_open_count(r->proxy);
	if (!n || loop_timer_set(h->loop, &h->leave, LEAVE_POLL_MS) < 0)
		loop_stop(h->loop, 0);
}

static int open_doors(struct house *h)
{
	int r = 0;

	for (int i = 0; i < HANDOFF_LISTENER_COUNT && r >= 0; i++)
		if (h->handoff->has_listener & 1u << i)
			r = front_add_listener(h->front, HANDOFF_FD_LISTENERS + i);
	return r;
}

static void obey(struct house *h, struct gatehouse_message *m, int fd)
{
	m->name[sizeof(m->name) - 1] = m->hash[sizeof(m->hash) - 1] = 0;
	switch (m->word) {
	case GATEHOUSE_SET:
		on_set(h, m, fd);
		break;
	case GATEHOUSE_GONE:
		on_gone(h, m);
		break;
	case GATEHOUSE_CERT:
		on_certificate(h, fd);
		break;
	case GATEHOUSE_OPEN:
		if (open_doors(h) < 0)
			loop_stop(h->loop, EXIT_BROKEN);
		break;
	case GATEHOUSE_LEAVE:
		front_close(h->front);
		on_leave_timer(&h->leave);
		break;
	default:
		break;
	}
}

static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void on_control(struct loop_io *io, uint32_t events)
{
	struct house *h = CONTAINER_OF(io, struct house, control);
	struct gatehouse_message m;
	char space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space)};
	ssize_t n = recvmsg(io->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	_cleanup_close_ int fd = -1;

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		loop_stop(h->loop, 0); /* the supervisor is gone, and so are we */
		return;
	}
	fd = take_fd(&msg);
	if (n == sizeof(m))
		obey(h, &m, fd);
	explicit_bzero(&m, sizeof(m));
}

int gatehouse_send(int control, const struct gatehouse_message *message, int fd)
{
	char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {(void *)(uintptr_t)message, sizeof(*message)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = space;
		msg.msg_controllen = sizeof(space);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(control, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* --- all of it */

static const void *map_shared(int fd, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int build_front(struct house *h)
{
	struct front_options o = {.loop = h->loop, .find = find, .arg = h};
	char unused[TENANT_HASH_BYTES];
	int r = front_new(&o, &h->front);

	h->first = &h->stranger;
	if (r >= 0)
		r = make_proxy(h, &h->stranger);
	if (r >= 0)
		r = hmac_hash("", 0, unused); /* the library finds its algorithm while it may */
	return r;
}

static int build(struct house *h, const char **ret_step)
{
	int r;

	*ret_step = "settings";
	h->handoff = map_shared(HANDOFF_FD_SETTINGS, sizeof(*h->handoff));
	h->state = map_shared(HANDOFF_FD_STATE, sizeof(*h->state));
	if (!h->handoff || !h->state)
		return -EINVAL;
	*ret_step = "the policy of strangers";
	r = policy_map(HANDOFF_FD_POLICY, &h->nothing);
	if (r >= 0) {
		*ret_step = "the loop";
		r = loop_new(&h->loop);
	}
	if (r >= 0) {
		*ret_step = "the audit ring";
		r = audit_ring_open(HANDOFF_FD_RINGS, HANDOFF_FD_WAKE, &h->ring);
	}
	if (r >= 0) {
		*ret_step = "the resolver";
		r = resolve_new(h->loop, h->handoff->servers, h->handoff->n_servers, &h->resolve);
	}
	if (r >= 0) {
		*ret_step = "the door";
		r = build_front(h);
	}
	if (r >= 0)
		r = take_certificate(h, HANDOFF_FD_SECRETS, ret_step);
	h->control.on_ready = on_control;
	h->leave.on_timeout = on_leave_timer;
	return r < 0 ? r : loop_add(h->loop, &h->control, HANDOFF_FD_CONTROL, EPOLLIN);
}

/* The totals of what was open go into the ring. */
static void leave(struct house *h)
{
	front_free(h->front);
	for (struct resident *r = h->first; r; r = r->next)
		proxy_cut(r->proxy);
}

int gatehouse_main(void)
{
	static struct house h;
	const char *step = "";
	int r;

	log_set_name("nej gateway");
	signal(SIGPIPE, SIG_IGN);
	isolate_prepare();
	r = build(&h, &step);
	if (r >= 0) {
		shed_memory();
		r = isolate(h.handoff->uid, -1, &step);
	}
	if (r >= 0)
		r = companion_say_ready(HANDOFF_FD_CONTROL, NULL, 0);
	if (r < 0) {
		log_error("cannot start: %s: %s", step, strerror(-r));
		return EXIT_BROKEN;
	}
	r = loop_run(h.loop);
	leave(&h);
	return r < 0 ? EXIT_BROKEN : r;
}
