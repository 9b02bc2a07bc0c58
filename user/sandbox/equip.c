/* SPDX-License-Identifier: GPL-2.0-only */
/* Everything a worker gets, made once; see equip.h. How it comes to it is companion.c's. */
#include "equip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/meter.h"
#include "../dns/resolve.h"
#include "../kernel/link.h"
#include "../policy/overlay.h"

/* A /64 nobody else has: fd, then 56 random bits (RFC 4193). */
static void draw_synth6(uint8_t out[static 8])
{
	out[0] = 0xfd;
	if (getrandom(out + 1, 7, 0) != 7)
		_exit(SANDBOX_EXIT_FAILED);
}

static void fill_resolvers(const struct sandbox *sb, struct handoff *h)
{
	size_t n = sb->options->n_resolvers;

	if (n)
		memcpy(h->servers, sb->options->resolvers, n * sizeof(*h->servers));
	else
		n = policy_resolvers(sb->policy, h->servers, HANDOFF_MAX_SERVERS);
	if (!n)
		n = resolve_host_servers(h->servers, HANDOFF_MAX_SERVERS);
	h->n_servers = (uint32_t)n;
}

static int fill_host_addrs(struct handoff *h)
{
	_cleanup_free_ struct addr *addrs = NULL;
	size_t n = 0;
	int r = link_addrs(&addrs, &n);

	if (r < 0)
		return r;
	if (n > HANDOFF_MAX_HOST_ADDRS)
		return -E2BIG; /* one that is left out could be dialled */
	if (n)
		memcpy(h->host_addrs, addrs, n * sizeof(*addrs));
	h->n_host_addrs = (uint32_t)n;
	return 0;
}

static int seal(int fd, int seals)
{
	return fcntl(fd, F_ADD_SEALS, seals | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0
		? -errno
		: 0;
}

static int make_settings(struct sandbox *sb)
{
	struct handoff h = {
		.n_threads = sb->options->n_threads,
		.uid = sb->id.worker_uid,
		.generation = sb->generation,
		.has_listener = sb->listeners.has,
		.tls = (policy_inspects(sb->policy) ? HANDOFF_TLS_INSPECTS : 0u) |
			(policy_has_tls_upstream(sb->policy) ? HANDOFF_TLS_UPSTREAM : 0u),
		.proxy_port = sb->listeners.proxy_port,
		.eager_port = sb->listeners.eager_port,
		.stub_port = sb->listeners.stub_port,
	};
	int fd = memfd_create("nej-settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fill_host_addrs(&h);

	sb->companion_plan.settings_fd = fd;
	snprintf(h.sandbox, sizeof(h.sandbox), "%s", sb->name);
	fill_resolvers(sb, &h);
	draw_synth6(h.synth6);
	memcpy(sb->settings.synth6, h.synth6, sizeof(h.synth6));
	if (r < 0)
		return r;
	if (fd < 0 || write(fd, &h, sizeof(h)) != sizeof(h))
		return -errno;
	return seal(fd, F_SEAL_WRITE);
}

/* The worker gets it sealed: only the mapping made here can write. */
static int make_state(struct sandbox *sb)
{
	int fd = memfd_create("nej-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p;

	sb->companion_plan.state_fd = fd;
	if (fd < 0 || ftruncate(fd, sizeof(*sb->state)) < 0)
		return -errno;
	p = mmap(NULL, sizeof(*sb->state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	sb->state = p;
	atomic_store(&sb->state->generation, sb->generation);
	return seal(fd, F_SEAL_FUTURE_WRITE);
}

/* Its size is sealed: a worker that cut it would end us. */
static int make_meters(struct sandbox *sb)
{
	const size_t size = HANDOFF_MAX_THREADS * sizeof(struct meter);
	int fd = memfd_create("nej-meters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p;

	sb->companion_plan.meters_fd = fd;
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return -errno;
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	sb->meters = p;
	return seal(fd, 0);
}

/* The policy's own: what it inspects needs roots, what it hands out must be there. */
static int make_trust(struct sandbox *sb)
{
	sb->can_inspect = policy_inspects(sb->policy);
	sb->can_tls = sb->can_inspect || policy_has_tls_upstream(sb->policy);
	if (!sb->can_inspect)
		return 0;
	sb->companion_plan.roots_fd = anchors_roots_fd(&sb->anchors);
	return sb->companion_plan.roots_fd < 0 ? sb->companion_plan.roots_fd : 0;
}

int equip_worker(struct sandbox *sb)
{
	int r = make_settings(sb);

	if (r >= 0)
		r = make_state(sb);
	if (r >= 0)
		r = make_meters(sb);
	if (r >= 0)
		r = make_trust(sb);
	sb->companion_plan.name = sb->name;
	sb->companion_plan.policy_fd = policy_fd(sb->policy);
	sb->companion_plan.listeners = &sb->listeners;
	sb->companion_plan.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r >= 0 && sb->companion_plan.wake_fd < 0)
		r = -errno;
	return r;
}

int equip_start(struct sandbox *sb)
{
	const struct policy *grants = overlay_of(sb->policy);
	_cleanup_close_ int secrets = -1;
	int r;

	if (sb->secrets.n)
		secrets = secrets_encode(&sb->secrets);
	if (sb->secrets.n && secrets < 0)
		return secrets;
	sb->companion_plan.secrets_fd = secrets;
	sb->companion_plan.grants_fd = grants ? policy_fd(grants) : -1;
	r = companion_start(&sb->companion_plan, &sb->worker);
	sb->companion_plan.secrets_fd = -1;
	return r;
}

int equip_finish(struct sandbox *sb, const struct companion_ready *ready)
{
	if (!sb->can_inspect)
		return 0;
	if (!ready->ca_len)
		return -EBADMSG;
	return anchors_write(&sb->anchors, ready->ca_der, ready->ca_len);
}
