/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The DNS stub: answers the sandbox's queries over UDP and TCP on the descriptors it is given.
 * Whatever resolver the program asked, the BPF hooks brought the question here. Read answer.h for
 * what each type gets.
 */
#ifndef NEJ_DNS_STUB_H
#define NEJ_DNS_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "../base/loop.h"
#include "../base/meter.h"
#include "../kernel/learn.h"
#include "../policy/decide.h"
#include "resolve.h"
#include "synth.h"

struct stub;

struct stub_denial {
	const struct host *name; /* NULL: malformed message */
	uint16_t type;
	enum nej_reason reason;
	uint32_t rule;
	const struct endpoint *client; /* source of the query inside the sandbox */
	uint8_t proto;                 /* IPPROTO_UDP or IPPROTO_TCP */
};

struct stub_options {
	struct loop *loop;
	const struct policy *const *policy; /* the policy in force: read at each query */
	struct synth *synth;
	struct resolve *resolve;
	struct learn *learn; /* NULL: no transport: kernel */
	void (*on_denial)(void *arg, const struct stub_denial *denial); /* one per query refused */
	/* May anything be answered (audit writable, not halted)? NONE or the reason. */
	enum nej_reason (*may_answer)(void *arg);
	struct meter *meter; /* NULL: nobody watches */
	void *arg;
};

int stub_new(const struct stub_options *options, struct stub **ret);
void stub_free(struct stub *stub);

/* Adds a bound UDP socket or a listening TCP socket; the stub owns the descriptor from now on. */
int stub_add_udp(struct stub *stub, int fd);
int stub_add_tcp(struct stub *stub, int fd);

#endif
