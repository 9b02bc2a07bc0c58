/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capacities of every table of nej, on both sides. Each row says what happens when it is full;
 * nothing that is full ever allows. Read reason.h next.
 */
#ifndef NEJ_BOUNDS_H
#define NEJ_BOUNDS_H

/* kernel maps */
#define NEJ_MAX_ALLOW 65536  /* allow4, allow6: policy or learned name refused */
#define NEJ_MAX_LEARNED 4096 /* names of learned addresses: after a reload they are asked again */
#define NEJ_MAX_GRANTS 64    /* grants: in force at a time; one more is refused */
#define NEJ_MAX_PORTS 65536  /* ports: holds every port of TCP */
#define NEJ_MAX_FLOWS 32768  /* flows: LRU, above all client ports; the oldest is closed */
#define NEJ_MAX_FOLDS 4096   /* folds: LRU, a lost count shows in events_lost */
#define NEJ_EVENTS_BYTES (1 << 20) /* events: lost ones are counted */

/* policy */
#define NEJ_MAX_RULES 65536              /* rules of one policy: error */
#define NEJ_MAX_LIST_HOSTS 8000000       /* hosts of all lists of a policy: error */
#define NEJ_MAX_POLICY_BYTES (64u << 20) /* the YAML file itself: error */
#define NEJ_MAX_ERRORS 20                /* errors shown of one policy; the rest are counted */

/* worker */
#define NEJ_MAX_SYNTH 65536    /* synthetic pairs: the longest unused name gives its pair up */
#define NEJ_MAX_DNS_CACHE 8192 /* resolver cache: the oldest answer goes */
#define NEJ_MAX_CONNS 65536    /* connections of one worker: refused with `limit` */
#define NEJ_MAX_LEAVES 1024  /* certificates of inspected hosts: the longest unused is made anew */
#define NEJ_MAX_TICKETS 1024 /* TLS sessions of origins to resume: the oldest goes */
#define NEJ_MAX_SPARES 256   /* idle connections to origins, of a thread: the oldest is closed */
#define NEJ_MAX_LIMITED_RULES 1024 /* rules with limits in use: further ones admit nothing */
#define NEJ_MAX_QUERIES 1024       /* resolver queries in flight: SERVFAIL */
#define NEJ_MAX_HELD_BYTES                                                                         \
	(256u << 20)             /* of a thread, for slow readers and unfinished heads: reset */
#define NEJ_MAX_HEAD_BYTES 65536 /* request head, ClientHello: refused with `framing` */
#define NEJ_AUDIT_RING_BYTES (1 << 20) /* worker to supervisor: full refuses new connections */

#endif
