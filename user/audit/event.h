/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One audit event as plain data, before it has a place in the chain. The worker fills one for every
 * attempt; json.c prints it.
 */
#ifndef NEJ_AUDIT_EVENT_H
#define NEJ_AUDIT_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/abi.h"
#include "../base/addr.h"

/* X(id, word in the record) */
#define AUDIT_KINDS(X)                                                                             \
	X(SANDBOX_STARTED, "sandbox_started")                                                      \
	X(POLICY_LOADED, "policy_loaded")                                                          \
	X(NETWORK_ALLOWED, "network_allowed")                                                      \
	X(NETWORK_CLOSED, "network_closed") /* totals of one that outlived its first record */     \
	X(NETWORK_BLOCKED, "network_blocked")                                                      \
	X(NETWORK_FAILED, "network_failed") /* allowed, but the other side did not work */         \
	X(DNS_BLOCKED, "dns_blocked")                                                              \
	X(SECRET_INJECTED, "secret_injected")                                                      \
	X(SECRET_REFLECTED, "secret_reflected") /* the server gave it back; taken out */           \
	X(SECRETS_READ, "secrets_read")         /* anew; those that failed are gone */             \
	X(EVENTS_LOST, "events_lost")                                                              \
	X(WORKER_RESTARTED, "worker_restarted")                                                    \
	X(ADOPTED, "adopted")       /* what an earlier supervisor left */                          \
	X(AUDIT_GAP, "audit_gap")   /* the log before this record is shorter than its head */      \
	X(NAME_GIVEN, "name_given") /* no record: host is what the address addr stands for */      \
	X(GRANT_ADDED, "grant_added")                                                              \
	X(GRANT_ENDED, "grant_ended")                                                              \
	X(HALTED, "halted")                                                                        \
	X(RESUMED, "resumed")                                                                      \
	X(CANARY_FAILED, "canary_failed") /* what must be refused was not: it is halted */         \
	X(SANDBOX_FINISHED, "sandbox_finished")

enum audit_kind {
#define X(id, word) AUDIT_##id,
	AUDIT_KINDS(X)
#undef X
		AUDIT_KIND_COUNT
};

#define AUDIT_LAYERS(X)                                                                            \
	X(SUPERVISOR, "supervisor")                                                                \
	X(KERNEL, "kernel")                                                                        \
	X(DNS, "dns")                                                                              \
	X(PROXY, "proxy")                                                                          \
	X(HTTP, "http")                                                                            \
	X(GATEWAY, "gateway")

enum audit_layer {
#define X(id, word) AUDIT_LAYER_##id,
	AUDIT_LAYERS(X)
#undef X
		AUDIT_LAYER_COUNT
};

#define AUDIT_APPS(X)                                                                              \
	X(NONE, NULL)                                                                              \
	X(TLS, "tls")                                                                              \
	X(HTTP, "http")                                                                            \
	X(DNS, "dns")                                                                              \
	X(SOCKS5, "socks5")                                                                        \
	X(RAW, "raw")

enum audit_app {
#define X(id, word) AUDIT_APP_##id,
	AUDIT_APPS(X)
#undef X
		AUDIT_APP_COUNT
};

#define AUDIT_NO_RULE UINT32_MAX

/* A text of the event: not NUL-terminated, not owned. ptr NULL: the key is null. */
struct audit_text {
	const char *ptr;
	uint32_t len;
};

struct audit_event {
	uint8_t kind;   /* enum audit_kind */
	uint8_t layer;  /* enum audit_layer */
	uint8_t reason; /* enum nej_reason */
	uint8_t app;    /* enum audit_app */
	uint8_t proto;  /* IPPROTO_TCP, IPPROTO_UDP or any other number; 0: null */
	uint8_t has_addr;
	uint16_t status; /* HTTP status; 0: null */
	uint16_t port;   /* 0: null */
	uint16_t pad;
	uint32_t rule;       /* index of the policy's rule; AUDIT_NO_RULE */
	uint32_t generation; /* of the policy that decided */
	uint32_t pid;        /* 0: unknown */
	uint32_t uid;
	uint64_t cgroup_id;
	uint64_t count;   /* attempts folded into this record; 1 normally */
	uint64_t time_us; /* CLOCK_REALTIME */
	uint64_t duration_us;
	uint64_t bytes_out; /* client to destination */
	uint64_t bytes_in;
	struct addr addr; /* as the client asked for it */
	char comm[NEJ_COMM_BYTES];
	struct audit_text host;   /* as decided: lower case A-label or address */
	struct audit_text method; /* HTTP method or CONNECT */
	struct audit_text url;
	struct audit_text detail; /* free text for people: an error, two names that differ */
};

/* The most that is kept of each text, in bytes; what is cut leaves a mark. */
#define AUDIT_MAX_HOST 512
#define AUDIT_MAX_METHOD 32
#define AUDIT_MAX_URL 2048
#define AUDIT_MAX_DETAIL 512
#define AUDIT_CUT_BYTES 64 /* room for the mark */

/* Copies a text to out (max_bytes + AUDIT_CUT_BYTES): whole, or its first max_bytes and a mark with
 * the length and the SipHash-2-4 (key all zero) of what was cut, so that a known text can still be
 * recognised. Returns the length. */
size_t audit_text_cut(struct audit_text text, size_t max_bytes, char *out);

const char *audit_kind_word(enum audit_kind kind);
const char *audit_layer_word(enum audit_layer layer);
const char *audit_app_word(enum audit_app app); /* NULL for NONE */
const char *reason_word(enum nej_reason reason);
const char *reason_sentence(enum nej_reason reason);

#endif
