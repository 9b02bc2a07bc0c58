/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker: proxies and stub on one loop a thread. Builds everything from the descriptors of
 * handoff.h, waits for the map of flows, passes isolate.c, tells the supervisor, and serves. Read
 * proxy/listen.c and dns/stub.c for what is served.
 */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../audit/ring.h"
#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "../base/loop.h"
#include "../dns/resolve.h"
#include "../dns/stub.h"
#include "../dns/synth.h"
#include "../kernel/learn.h"
#include "../kernel/origin.h"
#include "../policy/overlay.h"
#include "../proxy/proxy.h"
#include "../tls/session.h"
#include "companion.h"
#include "delivery.h"
#include "isolate.h"
#include "shed.h"
#include "turn.h"

#define EXIT_BROKEN 1
#define WORKER_STACK (256u << 10)

struct runtime;

/* What one thread owns. */
struct lane {
	struct runtime *rt;
	pthread_t thread;
	struct loop *loop;
	struct resolve *resolve;
	struct audit_ring *ring;
	struct proxy *proxy;
	struct session_io *tls; /* NULL: no rule looks inside */
	struct loop_io
		stop; /* other lanes: the control socket's end stops lane 0, which stops us */
};

struct runtime {
	const struct handoff *handoff;
	const struct handoff_state *state;
	struct meter *meters;  /* one a lane */
	struct policy *policy; /* at the start; from then on turn's */
	struct turn turn;
	struct context *tls;
	struct secret_store *secrets; /* NULL: the policy names none */
	struct synth *synth;
	struct learn *learn;
	struct stub *stub; /* on lane 0 */
	struct lane lanes[HANDOFF_MAX_THREADS];
	int stop_pipe[2];
};

static enum nej_reason may_pass(void *arg)
{
	struct runtime *rt = arg;

	return (enum nej_reason)atomic_load_explicit(&rt->state->refuse, memory_order_relaxed);
}

static enum nej_reason may_answer(void *arg)
{
	struct runtime *rt = arg;

	return audit_ring_has_room(rt->lanes[0].ring) ? may_pass(rt) : NEJ_REASON_AUDIT_UNAVAILABLE;
}

/* --- refused questions */

static const char *type_word(uint16_t type, char out[static 16])
{
	static const struct {
		uint16_t type;
		const char *word;
	} words[] = {{1, "A"}, {2, "NS"}, {5, "CNAME"}, {6, "SOA"}, {12, "PTR"}, {15, "MX"},
		{16, "TXT"}, {28, "AAAA"}, {33, "SRV"}, {64, "SVCB"}, {65, "HTTPS"}, {255, "ANY"}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].type == type)
			return words[i].word;
	snprintf(out, 16, "TYPE%u", type);
	return out;
}

/* Only TCP questions have a filed flow: of a datagram the kernel knows no more than its port. */
static void fill_process(const struct stub_denial *denial, struct audit_event *event)
{
	struct nej_origin origin;

	if (denial->proto != IPPROTO_TCP ||
		origin_find(HANDOFF_FD_FLOWS, denial->client, &origin) < 0)
		return;
	event->pid = origin.process.pid;
	event->uid = origin.process.uid;
	event->cgroup_id = origin.process.cgroup_id;
	memcpy(event->comm, origin.process.comm, sizeof(event->comm));
}

static void on_denial(void *arg, const struct stub_denial *denial)
{
	struct runtime *rt = arg;
	char number[16];
	const char *type = type_word(denial->type, number);
	struct audit_event event = {
		.kind = AUDIT_DNS_BLOCKED,
		.layer = AUDIT_LAYER_DNS,
		.reason = (uint8_t)denial->reason,
		.app = AUDIT_APP_DNS,
		.proto = denial->proto,
		.port = 53,
		.rule = denial->rule,
		.generation = rt->turn.lanes[0].generation,
		.count = 1,
		.time_us = clock_real_us(),
		.detail = {type, (uint32_t)strlen(type)},
	};

	if (denial->name)
		event.host = (struct audit_text){denial->name->name, denial->name->len};
	fill_process(denial, &event);
	audit_ring_put(rt->lanes[0].ring, &event, NULL);
}

/* The kernel's refusals know only addresses: the supervisor is told whose they are. */
static void on_given(
	void *arg, const struct host *name, const struct addr *v4, const struct addr *v6)
{
	struct runtime *rt = arg;
	struct audit_event event = {
		.kind = AUDIT_NAME_GIVEN,
		.rule = AUDIT_NO_RULE,
		.has_addr = 1,
		.addr = *v4,
		.host = {name->name, name->len},
	};

	audit_ring_put(rt->lanes[0].ring, &event, NULL);
	event.addr = *v6;
	audit_ring_put(rt->lanes[0].ring, &event, NULL);
}

/* --- building */

static void *map_shared(int fd, size_t len, int prot)
{
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool has_listener(const struct runtime *rt, enum handoff_listener which)
{
	return rt->handoff->has_listener & 1u << which;
}

/* Each lane accepts on a duplicate of the same sockets. */
static int add_proxy_listeners(struct lane *lane)
{
	struct runtime *rt = lane->rt;
	int r = 0;

	for (int i = HANDOFF_PROXY4; i <= HANDOFF_EAGER6 && r >= 0; i++) {
		int fd = HANDOFF_FD_LISTENERS + i;

		if (!has_listener(rt, (enum handoff_listener)i))
			continue;
		if (lane != &rt->lanes[0])
			fd = dup(fd);
		r = fd < 0 ? -errno : proxy_add_listener(lane->proxy, fd, i >= HANDOFF_EAGER4);
	}
	return r;
}

static int lane_build(struct lane *lane, size_t i)
{
	struct runtime *rt = lane->rt;
	const struct handoff *h = rt->handoff;
	struct proxy_options options = {
		.policy = &rt->turn.lanes[i].policy,
		.generation = &rt->turn.lanes[i].generation,
		.synth = rt->synth,
		.flows_fd = HANDOFF_FD_FLOWS,
		.explicit4 = {.port = h->proxy_port},
		.explicit6 = {.port = h->proxy_port},
		.host_addrs = h->host_addrs,
		.n_host_addrs = h->n_host_addrs,
		.may_pass = may_pass,
		.arg = rt,
	};
	int r = loop_new(&lane->loop);

	addr_parse("127.0.0.1", 9, &options.explicit4.addr);
	addr_parse("::1", 3, &options.explicit6.addr);
	if (r >= 0)
		r = audit_ring_open(HANDOFF_FD_RINGS + (int)i, HANDOFF_FD_WAKE, &lane->ring);
	if (r >= 0)
		r = resolve_new(lane->loop, h->servers, h->n_servers, &lane->resolve);
	if (r < 0)
		return r;
	options.loop = lane->loop;
	options.resolve = lane->resolve;
	options.ring = lane->ring;
	if (rt->tls)
		r = session_io_new(rt->tls, &lane->tls);
	if (r < 0)
		return r;
	if (lane->tls)
		session_io_measure(lane->tls, &rt->meters[i]);
	options.tls = lane->tls;
	options.meter = &rt->meters[i];
	options.secrets = rt->secrets;
	r = proxy_new(&options, &lane->proxy);
	if (r >= 0)
		r = turn_watch(&rt->turn, i, lane->loop, lane->proxy);
	return r < 0 ? r : add_proxy_listeners(lane);
}

static int add_stub_sockets(struct runtime *rt)
{
	int r = 0;

	for (int i = HANDOFF_DNS_UDP4; i < HANDOFF_LISTENER_COUNT && r >= 0; i++) {
		int fd = HANDOFF_FD_LISTENERS + i;

		if (has_listener(rt, (enum handoff_listener)i))
			r = i <= HANDOFF_DNS_UDP6 ? stub_add_udp(rt->stub, fd)
						  : stub_add_tcp(rt->stub, fd);
	}
	return r;
}

/* The supervisor read the secrets anew. Values that cannot be taken are none: requests that need one
 * are refused until the next come. */
static void take_new_secrets(struct runtime *rt, int fd)
{
	int r = rt->secrets ? delivery_take(fd, turn_policy(&rt->turn), rt->secrets) : -EINVAL;

	if (r < 0 && rt->secrets)
		secret_store_clear(rt->secrets);
	if (r < 0)
		log_error("secrets that were read anew cannot be used: %s", strerror(-r));
}

static void on_word(void *arg, const void *word, size_t len_bytes, int fd)
{
	_cleanup_close_ int descriptor = fd;
	struct runtime *rt = arg;
	struct init_message message;

	if (len_bytes != sizeof(message))
		return;
	memcpy(&message, word, sizeof(message));
	if (message.word == INIT_SECRETS)
		take_new_secrets(rt, descriptor);
	else
		turn_do(&rt->turn, &message, descriptor);
}

static void on_hangup(void *arg)
{
	struct runtime *rt = arg;

	loop_stop(rt->lanes[0].loop, 0);
}

static int stub_build(struct runtime *rt)
{
	struct stub_options options = {
		.loop = rt->lanes[0].loop,
		.policy = &rt->turn.lanes[0].policy,
		.synth = rt->synth,
		.resolve = rt->lanes[0].resolve,
		.on_denial = on_denial,
		.may_answer = may_answer,
		.meter = &rt->meters[0],
		.arg = rt,
	};
	int r = learn_new(rt->lanes[0].loop, HANDOFF_FD_CONTROL, &rt->learn);

	if (r < 0)
		return r;
	learn_on_hangup(rt->learn, on_hangup, rt);
	learn_on_word(rt->learn, on_word, rt);
	options.learn = rt->learn;
	r = stub_new(&options, &rt->stub);
	return r < 0 ? r : add_stub_sockets(rt);
}

/* Whom to believe came from the supervisor, which has read the operator's files; a forward proxy
 * without a `ca` of its own is believed by the system's. */
static int tls_build(struct runtime *rt, const char **ret_step)
{
	static char roots[32];
	const struct context_options options = {.sandbox = rt->handoff->sandbox,
		.root_bundle = rt->handoff->tls & HANDOFF_TLS_INSPECTS ? roots : NULL};

	/* a policy that comes later may need it, if the first one did */
	if (!rt->handoff->tls)
		return 0;
	snprintf(roots, sizeof(roots), "/proc/self/fd/%d", HANDOFF_FD_ROOTS);
	return context_new(&options, &rt->tls, ret_step);
}

static int take_secrets(struct runtime *rt)
{
	int r;

	if (!policy_secret_count(rt->policy))
		return 0;
	r = secret_store_new(&rt->secrets);
	if (r >= 0)
		r = delivery_take(HANDOFF_FD_SECRETS, rt->policy, rt->secrets);
	close(HANDOFF_FD_SECRETS);
	return r;
}

static int take_grants(struct policy *policy)
{
	struct policy *grants;
	int r;

	if (fcntl(HANDOFF_FD_GRANTS, F_GET_SEALS) < 0)
		return 0; /* none are in force */
	r = overlay_map(HANDOFF_FD_GRANTS, &grants);
	if (r >= 0)
		overlay_lay(policy, grants);
	close(HANDOFF_FD_GRANTS);
	return r;
}

static int build(struct runtime *rt, const char **ret_step)
{
	int r;

	*ret_step = "settings";
	rt->handoff = map_shared(HANDOFF_FD_SETTINGS, sizeof(*rt->handoff), PROT_READ);
	rt->state = map_shared(HANDOFF_FD_STATE, sizeof(*rt->state), PROT_READ);
	rt->meters = map_shared(HANDOFF_FD_METERS, HANDOFF_MAX_THREADS * sizeof(*rt->meters),
		PROT_READ | PROT_WRITE);
	if (!rt->handoff || !rt->state || !rt->meters || rt->handoff->n_threads < 1 ||
		rt->handoff->n_threads > HANDOFF_MAX_THREADS)
		return -EINVAL;
	*ret_step = "the policy";
	r = policy_map(HANDOFF_FD_POLICY, &rt->policy);
	if (r >= 0)
		r = take_grants(rt->policy);
	if (r >= 0)
		r = turn_init(&rt->turn, rt->handoff->n_threads, rt->policy,
			atomic_load(&rt->state->generation), HANDOFF_FD_CONTROL);
	if (r >= 0) {
		*ret_step = "synthetic addresses";
		r = synth_new(rt->handoff->synth6, &rt->synth);
	}
	if (r >= 0) {
		*ret_step = "the secrets";
		r = take_secrets(rt);
	}
	if (r >= 0)
		r = tls_build(rt, ret_step);
	for (size_t i = 0; r >= 0 && i < rt->handoff->n_threads; i++) {
		*ret_step = "the proxy";
		rt->lanes[i].rt = rt;
		r = lane_build(&rt->lanes[i], i);
	}
	if (r >= 0) {
		synth_on_given(rt->synth, on_given, rt);
		*ret_step = "the DNS stub";
		r = stub_build(rt);
	}
	return r;
}

/* --- serving */

static void on_stop(struct loop_io *io, uint32_t events)
{
	struct lane *lane = CONTAINER_OF(io, struct lane, stop);

	(void)events;
	loop_stop(lane->loop, 0);
}

static void *lane_run(void *arg)
{
	struct lane *lane = arg;
	int r = loop_run(lane->loop);

	proxy_free(lane->proxy); /* the totals of what was open go into the ring */
	if (r < 0)
		_exit(EXIT_BROKEN);
	return NULL;
}

static int start_lanes(struct runtime *rt)
{
	pthread_attr_t attr;
	int r = 0;

	if (rt->handoff->n_threads == 1)
		return 0;
	if (pipe2(rt->stop_pipe, O_CLOEXEC) < 0)
		return -errno;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	for (size_t i = 1; i < rt->handoff->n_threads && r >= 0; i++) {
		struct lane *lane = &rt->lanes[i];

		lane->stop.on_ready = on_stop;
		r = loop_add(lane->loop, &lane->stop, rt->stop_pipe[0], EPOLLIN);
		if (r >= 0)
			r = -pthread_create(&lane->thread, &attr, lane_run, lane);
	}
	pthread_attr_destroy(&attr);
	return r;
}

static void stop_lanes(struct runtime *rt)
{
	if (rt->handoff->n_threads == 1)
		return;
	close(rt->stop_pipe[1]);
	for (size_t i = 1; i < rt->handoff->n_threads; i++)
		pthread_join(rt->lanes[i].thread, NULL);
}

static int serve(struct runtime *rt)
{
	int r = loop_run(rt->lanes[0].loop);

	stop_lanes(rt);
	stub_free(rt->stub);
	proxy_free(rt->lanes[0].proxy);
	secret_store_free(rt->secrets);
	return r < 0 ? EXIT_BROKEN : 0;
}

static int say_ready(const struct runtime *rt)
{
	_cleanup_(buf_done)
	struct buf ca = {0};
	int r = rt->tls ? context_print_ca(rt->tls, &ca) : 0;

	return r < 0 ? r : companion_say_ready(HANDOFF_FD_CONTROL, ca.data, ca.len);
}

int runtime_main(void)
{
	static struct runtime rt;
	const char *step = "the supervisor's socket";
	int r;

	log_set_name("nej worker");
	signal(SIGPIPE, SIG_IGN);
	isolate_prepare();
	r = build(&rt, &step);
	if (r >= 0) {
		step = "the map of flows";
		r = companion_take_flows(HANDOFF_FD_CONTROL, HANDOFF_FD_FLOWS);
	}
	if (r >= 0)
		shed_memory(); /* behind the filter no file can be read */
	if (r == -EPIPE)
		return EXIT_BROKEN; /* the supervisor gave up, and said why */
	if (r >= 0)
		r = isolate(rt.handoff->uid, HANDOFF_FD_FLOWS, &step);
	if (r >= 0) {
		step = "threads";
		r = start_lanes(&rt);
	}
	if (r >= 0)
		r = say_ready(&rt);
	if (r < 0) {
		log_error("cannot start: %s: %s", step, strerror(-r));
		return EXIT_BROKEN;
	}
	return serve(&rt);
}
