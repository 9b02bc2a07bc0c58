/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the BPF programs and user space: map keys and values, the settings block,
 * the event record. Addresses are always 16 bytes, IPv4 in v4-mapped form (::ffff:a.b.c.d), in
 * network order. A change here raises NEJ_ABI_VERSION; pinned maps of another version are refused.
 */
#ifndef NEJ_ABI_H
#define NEJ_ABI_H

#ifdef __bpf__
#define NEJ_ASSERT_LAYOUT(cond) _Static_assert(cond, #cond)
#else
#include <linux/types.h>
#include <stddef.h>
#define NEJ_ASSERT_LAYOUT(cond) _Static_assert(cond, #cond)
#endif

#include "bounds.h"
#include "reason.h"

#define NEJ_ABI_VERSION 2
#define NEJ_PIN_ROOT "/sys/fs/bpf/nej"
#define NEJ_COMM_BYTES 16

/* A rule's number is its index in the policy; of a grant it is this and the grant's id. */
#define NEJ_RULE_GRANT 0x80000000u
#define NEJ_MAX_GRANT_ID 0x7ffffffeu /* 0xffffffff is no rule at all */

/* nej_settings.flags. All zero denies everything. */
#define NEJ_F_ACTIVE (1u << 0)       /* the rest of the block is valid */
#define NEJ_F_HALTED (1u << 1)       /* refuse every new socket, drop every packet but RST */
#define NEJ_F_AUDIT_FAILED (1u << 2) /* refuse: what happens could not be recorded */
#define NEJ_F_ANY_PORT (1u << 3)     /* some rule can allow any TCP port */
#define NEJ_F_OWN_NETNS (1u << 4)    /* loopback is the sandbox's own: no isolation needed */
#define NEJ_F_SCOPE_UID (1u << 5)    /* only sockets of scope_uid are confined */
#define NEJ_F_INBOUND_DENY (1u << 6) /* nobody may connect to listeners of the sandbox */
#define NEJ_F_UNIX_PRIVATE (1u << 7) /* connect_unix refuses paths that lead out */
#define NEJ_F_V4_ONLY (1u << 8)      /* the proxy has no IPv6 listener */

/* What `lo` of an own network namespace carries besides 127.0.0.1 and ::1, so that AI_ADDRCONFIG
 * finds both families: 10.255.255.254 and fd00:ffff::1, as four words in host order. */
#define NEJ_OWN_ADDR4 0x0afffffeu
#define NEJ_OWN_ADDR6_HEAD 0xfd00ffffu
#define NEJ_OWN_ADDR6_TAIL 1u

/* nej_port.flags */
#define NEJ_PORT_PROXY (1u << 0) /* some rule can allow the port */
#define NEJ_PORT_EAGER (1u << 1) /* the server may speak first: do not wait for client bytes */
#define NEJ_PORT_HOST (1u << 2)  /* host_ports: the host's loopback */

enum nej_verdict {
	NEJ_DENY,
	NEJ_PASS,  /* the socket itself goes to the destination */
	NEJ_PROXY, /* to the proxy listener that waits for the client's first bytes */
	NEJ_EAGER, /* to the proxy listener that accepts at once */
	NEJ_STUB,  /* to the DNS stub */
};

enum nej_hook {
	NEJ_HOOK_CONNECT,
	NEJ_HOOK_SENDMSG,
	NEJ_HOOK_BIND,
	NEJ_HOOK_SOCKET,
	NEJ_HOOK_EGRESS,
	NEJ_HOOK_INGRESS,
	NEJ_HOOK_UNIX,
	NEJ_HOOK_COUNT,
};

/* map `settings`, array of one. Ports are in network order, on 127.0.0.1 and ::1. */
struct nej_settings {
	__u32 abi;
	__u32 generation;
	__u32 flags;
	__u32 scope_uid;
	__u64 cgroup_id;
	__u16 proxy_port_be; /* TCP, also the explicit proxy */
	__u16 eager_port_be; /* TCP */
	__u16 stub_port_be;  /* TCP and UDP */
	__u16 deny_errno;    /* positive, at most 4095 */
	__u8 synth6[8];      /* the sandbox's /64 of synthetic addresses */
	__u32 unix_open;     /* bit i: row i of unix_paths.h is open (policy key `unix`) */
	__u32 pad;
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_settings) == 48);

struct nej_dest {
	__u8 addr[16];
	__u16 port_be;
	__u8 proto;  /* IPPROTO_* */
	__u8 family; /* AF_* of the socket; v4-mapped destinations keep AF_INET6 */
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_dest) == 20);

struct nej_process {
	__u32 pid; /* thread group id */
	__u32 uid; /* real uid */
	__u64 cgroup_id;
	char comm[NEJ_COMM_BYTES];
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_process) == 32);

/* map `flows`: client address and port of a redirected connection -> what it asked for */
struct nej_flow_key {
	__u8 addr[16];
	__u16 port_be;
	__u8 pad[2];
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_flow_key) == 20);

struct nej_origin {
	struct nej_dest dest;
	__u32 pad;
	struct nej_process process;
	__u64 time_ns; /* CLOCK_MONOTONIC of the connect */
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_origin) == 64);

/*
 * map `sockets`, storage of each TCP and UDP socket made or connected in the sandbox. Its presence
 * is the tag: a listener without one is somebody else's.
 */
struct nej_socket {
	struct nej_origin origin; /* of the last connect */
	struct nej_dest asked4;   /* UDP: the resolver last asked over IPv4, the answer's source */
	struct nej_dest asked6;   /* and over IPv6 */
	__u8 verdict;             /* enum nej_verdict of the last connect, 0 before */
	__u8 is_remembered;       /* the proxy must find the flow */
	__u8 is_admitted;         /* let straight out to origin.dest: its packets may leave */
	__u8 is_granted;          /* by a grant: every packet asks whether it is in force */
	__u32 generation;         /* of the policy that admitted it: another one asks again */
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_socket) == 112);

/* maps `allow4` and `allow6`, LPM tries. The prefix counts proto and port: 32 + address bits. Port
 * 0 is every port. */
struct nej_allow4_key {
	__u32 prefix_bits;
	__u8 proto;
	__u8 pad;
	__u16 port_be;
	__u8 addr[4];
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_allow4_key) == 12);

struct nej_allow6_key {
	__u32 prefix_bits;
	__u8 proto;
	__u8 pad;
	__u16 port_be;
	__u8 addr[16];
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_allow6_key) == 24);

struct nej_allow {
	__u8 verdict;       /* NEJ_PASS, NEJ_DENY, or NEJ_PROXY: as if there were no entry */
	__u8 is_private_ok; /* the policy's `private` covers all of the range */
	__u8 round;         /* of apply_policy: entries of an earlier round are taken away */
	__u8 pad;
	__u32 rule; /* for the audit record */
	__u64 expiry_ns; /* CLOCK_BOOTTIME, which neither a suspend nor settimeofday(2) holds up; 0 never */
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_allow) == 16);

/* map `grants`, array: a grant in force at its id modulo NEJ_MAX_GRANTS. An entry of the tries whose
 * rule is a grant that does not stand here, or whose time is up, is none. */
struct nej_grant {
	__u64 expiry_ns; /* CLOCK_BOOTTIME */
	__u32 id;
	__u32 pad;
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_grant) == 16);

/* map `ports` */
struct nej_port_key {
	__u8 proto;
	__u8 pad;
	__u16 port_be;
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_port_key) == 4);

struct nej_port {
	__u32 flags;
};

/*
 * map `events`: one refused call, or one flow the kernel lets straight out. Repeats of one
 * destination within a second are folded: `total` counts all that befell this key since start, so
 * a record's count is the difference to the last total seen. NEJ_HOOK_SOCKET has no address and
 * puts the protocol asked for (MPTCP is 262) in the port; NEJ_HOOK_UNIX the row of unix_paths;
 * NEJ_HOOK_INGRESS the peer's address with the local port.
 */
struct nej_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 total;
	struct nej_dest dest;
	__u8 hook;      /* enum nej_hook */
	__u8 reason;    /* enum nej_reason */
	__u8 verdict;   /* NEJ_DENY or NEJ_PASS */
	__u8 sock_type; /* SOCK_*, of NEJ_HOOK_SOCKET */
	__u32 rule;     /* of NEJ_PASS */
	__u32 pad;
	struct nej_process process;
	__u64 born_ns; /* of its fold: one that LRU forgot counts from zero again */
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_event) == 88);

/* map `folds` */
struct nej_fold_key {
	struct nej_dest dest;
	__u8 hook;
	__u8 reason;
	__u8 verdict;
	__u8 sock_type;
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_fold_key) == 24);

struct nej_fold {
	__u64 total;
	__u64 emitted_ns; /* CLOCK_MONOTONIC of the last event */
	__u64 born_ns;
	__u32 rule; /* of NEJ_PASS */
	__u32 pad;
	struct nej_process process; /* of that event */
};
NEJ_ASSERT_LAYOUT(sizeof(struct nej_fold) == 64);

/* map `counters`, per CPU array: refusals by reason, then these */
enum nej_counter {
	NEJ_COUNTER_EVENTS_LOST = NEJ_REASON_COUNT, /* ring buffer full */
	NEJ_COUNTER_PROBES,          /* refused silently: UDP connects (address sorting), and
				     connects to a port of loopback where nobody listens */
	NEJ_COUNTER_REDIRECTED,      /* to the proxy or the stub */
	NEJ_COUNTER_PASSED,          /* let straight out by a rule */
	NEJ_COUNTER_DROPPED_PACKETS, /* each is also a refusal with a reason */
	NEJ_COUNTER_COUNT,
};

#endif
