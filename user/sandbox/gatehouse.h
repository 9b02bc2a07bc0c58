/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gateway's worker, which alone parses what clients send: who is it, and on with that sandbox's
 * proxy. Confined as a sandbox's worker is; policies and hashes of passwords come over the control
 * socket, as the supervisor (gateway.c) reads them. Descriptors are those of handoff.h.
 */
#ifndef NEJ_SANDBOX_GATEHOUSE_H
#define NEJ_SANDBOX_GATEHOUSE_H

#include <stdint.h>

#include "tenants.h"

enum gatehouse_word {
	GATEHOUSE_SET,   /* a sandbox is new, or another; with its policy, if it has one */
	GATEHOUSE_GONE,  /* it is served no more */
	GATEHOUSE_CERT,  /* another certificate and key come along, as HANDOFF_FD_SECRETS did */
	GATEHOUSE_OPEN,  /* all are told: accept clients */
	GATEHOUSE_LEAVE, /* accept no more, end when the last connection has */
};

struct gatehouse_message {
	uint32_t word; /* enum gatehouse_word */
	uint32_t generation;
	char name[TENANT_NAME_BYTES];
	char hash[TENANT_HASH_BYTES]; /* of its password; empty: nobody can be it */
	uint8_t has_policy;           /* its descriptor comes along */
	uint8_t pad[6];
};

/* 0 or negative errno; fd -1 for none. */
int gatehouse_send(int control, const struct gatehouse_message *message, int fd);

/* The worker's whole life; an exit status. */
int gatehouse_main(void);

#endif
