/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the supervisor hands to the worker: descriptors at fixed numbers and one block of settings.
 * The worker opens nothing itself; what is not here it cannot reach.
 */
#ifndef NEJ_SANDBOX_HANDOFF_H
#define NEJ_SANDBOX_HANDOFF_H

#include <stdatomic.h>
#include <stdint.h>

#include "../base/addr.h"

#define HANDOFF_MAX_THREADS 8
#define HANDOFF_MAX_SERVERS 8
#define HANDOFF_MAX_HOST_ADDRS 256

enum handoff_fd {
	HANDOFF_FD_SETTINGS = 3, /* memfd: struct handoff */
	HANDOFF_FD_STATE,        /* memfd, read-only for the worker: struct handoff_state */
	HANDOFF_FD_CONTROL,      /* SOCK_SEQPACKET to the supervisor: learn requests; EOF ends us */
	HANDOFF_FD_POLICY,       /* memfd: the compiled policy */
	HANDOFF_FD_GRANTS,       /* memfd: those over it; /dev/null without any */
	HANDOFF_FD_FLOWS,        /* BPF map, read-only */
	HANDOFF_FD_WAKE,         /* eventfd of the audit rings */
	HANDOFF_FD_SECRETS,      /* memfd: struct handoff_secrets; /dev/null without any */
	HANDOFF_FD_ROOTS,  /* memfd: PEM of whom to believe; /dev/null if nothing is inspected */
	HANDOFF_FD_METERS, /* memfd: HANDOFF_MAX_THREADS of struct meter, which the worker writes */
	HANDOFF_FD_RINGS,  /* HANDOFF_MAX_THREADS slots, n_threads used */
	HANDOFF_FD_LISTENERS = HANDOFF_FD_RINGS + HANDOFF_MAX_THREADS,
};

/* Listening sockets, all inside the sandbox's network namespace, in this order. -1 in `has` where
 * the family is missing. */
enum handoff_listener {
	HANDOFF_PROXY4,
	HANDOFF_PROXY6,
	HANDOFF_EAGER4,
	HANDOFF_EAGER6,
	HANDOFF_DNS_UDP4,
	HANDOFF_DNS_UDP6,
	HANDOFF_DNS_TCP4,
	HANDOFF_DNS_TCP6,
	HANDOFF_LISTENER_COUNT,
};

enum handoff_tls {
	HANDOFF_TLS_INSPECTS = 1, /* there are roots, and programs that trust an authority */
	HANDOFF_TLS_UPSTREAM = 2, /* https forward proxies */
};

struct handoff {
	uint32_t n_threads;
	uint32_t uid; /* the worker becomes this user */
	uint32_t generation;
	uint32_t n_servers;
	uint32_t n_host_addrs;
	uint32_t has_listener; /* bit a handoff_listener */
	uint32_t tls;          /* enum handoff_tls, or-ed: what it may be for */
	uint16_t proxy_port, eager_port, stub_port, pad;
	uint8_t synth6[8];
	char sandbox[64]; /* its name */
	struct endpoint servers[HANDOFF_MAX_SERVERS];
	struct addr host_addrs[HANDOFF_MAX_HOST_ADDRS];
};

/*
 * The values of the policy's secrets, in a sealed memfd: this head, a row a secret in the policy's
 * order, then bytes. The reader copies what it needs into locked memory and closes the memfd. After
 * a reload another one comes over the control socket (INIT_SECRETS): its placeholders are the same.
 */
#define HANDOFF_MAX_SECRET_BYTES (16u << 10)
#define HANDOFF_SECRETS_MAGIC 0x31534a4eu /* NJS1 */

struct handoff_piece {
	uint32_t at, len; /* from the file's first byte; no NUL is counted or behind */
};

struct handoff_secret {
	struct handoff_piece placeholder;
	struct handoff_piece value;  /* len 0: its source fails now; never empty otherwise */
	struct handoff_piece key_id; /* value of the policy's key_id; len 0 without one */
};

struct handoff_secrets {
	uint32_t magic, n;
	struct handoff_secret secrets[];
};

/* Written by the supervisor while the worker runs. */
struct handoff_state {
	_Atomic uint32_t refuse; /* enum nej_reason: NONE, HALTED or AUDIT_UNAVAILABLE */
	_Atomic uint32_t generation;
};

#endif
