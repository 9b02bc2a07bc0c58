/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why something was refused: the one table of reasons. The id is shared by BPF programs and user
 * space, the word stands in the audit log and in X-Nej-Reason, the sentence is for people.
 */
#ifndef NEJ_REASON_H
#define NEJ_REASON_H

/* X(id, word, sentence) */
#define NEJ_REASONS(X)                                                                             \
	X(NONE, "none", "nothing was decided")                                                     \
	X(RULE, "rule", "a rule of the policy decides")                                            \
	X(NO_RULE, "no-rule", "no rule of the policy names it")                                    \
	X(PRIVATE_ADDRESS, "private-address", "it is a private, link-local or host address")       \
	X(ADDRESS_LITERAL, "address-literal",                                                      \
		"it is a bare address and no rule names that address")                             \
	X(HOST_MISMATCH, "host-mismatch", "the names the client gave do not agree")                \
	X(MALFORMED_HOST, "malformed-host", "it is not a valid host name")                         \
	X(NO_NAME, "no-name", "the connection carries no name a rule could match")                 \
	X(UNKNOWN_PROTOCOL, "unknown-protocol", "the protocol is not one this port allows")        \
	X(ECH, "ech", "the ClientHello is encrypted")                                              \
	X(FRAMING, "framing", "the message can be read in more than one way")                      \
	X(UDP, "udp", "UDP is only allowed to the resolver")                                       \
	X(SOCKET_TYPE, "socket-type", "only TCP and UDP sockets may be made")                      \
	X(FAMILY, "family", "the address family is not allowed")                                   \
	X(LOOPBACK, "loopback", "it is a loopback address outside the sandbox")                    \
	X(MULTICAST, "multicast", "it is a multicast or broadcast address")                        \
	X(PLACEHOLDER_LEAK, "placeholder-leak",                                                    \
		"a credential's placeholder was on its way elsewhere")                             \
	X(SECRET_UNAVAILABLE, "secret-unavailable", "a credential it needs has no value now")      \
	X(LIMIT, "limit", "a limit is reached")                                                    \
	X(HALTED, "halted", "the sandbox is halted")                                               \
	X(INSPECT_UNAVAILABLE, "inspect-unavailable",                                              \
		"the rule needs to see inside TLS, which was not possible")                        \
	X(CREDENTIALS, "credentials", "the proxy credentials are missing or wrong")                \
	X(POLICY_UNAVAILABLE, "policy-unavailable", "the sandbox's policy cannot be read")         \
	X(AUDIT_UNAVAILABLE, "audit-unavailable", "the audit log cannot be written")               \
	X(UPSTREAM_REFUSED, "upstream-refused", "the destination did not accept the connection")   \
	X(RESOLVE_FAILED, "resolve-failed", "the name could not be resolved")                      \
	X(INTERNAL, "internal", "nej met an error of its own and refuses to be safe")

enum nej_reason {
#define X(id, word, sentence) NEJ_REASON_##id,
	NEJ_REASONS(X)
#undef X
		NEJ_REASON_COUNT
};

#endif
