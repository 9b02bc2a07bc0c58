/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled policy in memory: a header, then sections of plain data, all places as offsets. Written
 * by compile.c, checked and mapped by image.c, read by decide.c. Never stored: each version of nej
 * makes and reads only its own.
 */
#ifndef NEJ_POLICY_IMAGE_H
#define NEJ_POLICY_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "decide.h"
#include "opens.h"
#include "policy.h"
#include "secret.h"
#include "table.h"

#define IMAGE_MAGIC 0x31504a4eu /* NJP1 */
#define IMAGE_HEX_BYTES 65
#define IMAGE_MAX_LISTS                                                                            \
	128 /* twice DRAFT_MAX_LISTS: `transport: kernel` makes two targets of one */

enum image_section {
	IMAGE_RULES,   /* struct image_rule */
	IMAGE_TARGETS, /* struct image_target, in the order they are tried */
	IMAGE_NODES,   /* struct image_node; the first is every name */
	IMAGE_REFS,    /* uint32_t: targets of a node, ascending */
	IMAGE_LISTS,   /* struct image_list, by place */
	IMAGE_TAGS,    /* table.h */
	IMAGE_SLOTS,
	IMAGE_NAMES,
	IMAGE_TEXT,       /* NUL-terminated strings; offset 0 is empty */
	IMAGE_PORTS,      /* struct policy_port */
	IMAGE_RANGES,     /* struct policy_range */
	IMAGE_HOST_PORTS, /* uint16_t */
	IMAGE_PRIVATES,   /* struct prefix */
	IMAGE_RESOLVERS,  /* struct endpoint */
	IMAGE_UNIX,       /* uint32_t: text */
	IMAGE_LIST_PATHS, /* uint32_t: text */
	IMAGE_UPSTREAMS,  /* struct image_upstream */
	IMAGE_SECRETS,    /* struct image_secret, as the policy lists them */
	IMAGE_ARGS,       /* uint32_t: text, of the secrets' sources */
	IMAGE_TOOLS,      /* struct image_text: mcp.tools of all rules */
	IMAGE_SECTIONS
};

struct image_span {
	uint32_t at, bytes;
};

struct image_header {
	uint32_t magic, size;
	uint64_t point; /* key.h */
	struct policy_limits limits;
	uint32_t lists_at; /* in IMAGE_NAMES */
	uint32_t n_hosts;
	uint8_t is_default_allow, denies_inbound, hides_allowed, fails_open;
	uint8_t private_mode, dns, has_unix_list, opens_any_port;
	uint8_t n_prefix_bits, inspects, pad[6];
	uint8_t prefix_bits[129]; /* lengths of address ranges among the keys */
	char sha256[IMAGE_HEX_BYTES];
	uint8_t pad2[6];
	struct image_span sections[IMAGE_SECTIONS];
};

struct image_rule {
	uint32_t line;
	uint32_t text, note;                           /* in IMAGE_TEXT; note 0: none */
	uint8_t is_deny, transport, is_inspect, flags; /* enum image_rule_flag */
	uint32_t upstream;            /* of transport upstream: index of IMAGE_UPSTREAMS */
	uint32_t first_tool, n_tools; /* of IMAGE_TOOLS */
	uint32_t pad;
	struct policy_limits limits;
	uint64_t expiry_ns; /* of a grant, whose id `line` is: CLOCK_BOOTTIME; 0: never */
};

enum image_rule_flag {
	IMAGE_RULE_MCP = 1 << 0,    /* only these tools may be called */
	IMAGE_RULE_HOSTED = 1 << 1, /* hosted_tools: deny */
};

enum image_flag {
	IMAGE_DENY = 1 << 0,
	IMAGE_SECRET = 1 << 1, /* not a rule's: a host that gets a secret */
	IMAGE_PATH = 1 << 2,
	IMAGE_METHODS = 1 << 3,
	IMAGE_SPEAKS_FIRST = 1 << 4, /* the server may */
	IMAGE_CASELESS = 1 << 5,     /* full and plain are in lower case, and paths are read so */
	IMAGE_CONDITIONAL = IMAGE_PATH | IMAGE_METHODS,
};

struct image_text {
	uint32_t at, len;
};

struct image_target {
	uint32_t rule; /* POLICY_NO_RULE: nej's own, or a secret's */
	uint8_t kind;  /* enum pattern_kind */
	uint8_t flags;
	uint16_t secret; /* IMAGE_SECRET: its index */
	struct opens opens;
	struct image_text methods, full, plain;
};

struct image_node {
	uint32_t first, n; /* of IMAGE_REFS */
};

struct image_list {
	uint32_t at, end; /* in IMAGE_NAMES */
	uint32_t target;
};

struct image_upstream {
	uint32_t name; /* in IMAGE_TEXT, as the others; 0: none */
	uint32_t ca_path, username, password;
	struct image_text ca; /* the file, PEM */
	struct host host;
	uint16_t port;
	uint8_t is_tls, is_by_name;
	uint8_t pad[4];
};

struct image_secret {
	uint32_t name, key_id; /* in IMAGE_TEXT; key_id 0: none */
	uint32_t first_arg, n_args;
	uint8_t source; /* enum policy_source_kind */
	uint8_t in;     /* enum policy_secret_in, or-ed */
	uint8_t is_aws, pad;
};

/* A mapped image. One owner frees it; readers are const. */
struct policy {
	int fd;
	size_t size;
	const uint8_t *base;
	const struct image_header *header;
	const struct image_rule *rules;
	const struct image_target *targets;
	const struct image_node *nodes;
	const uint32_t *refs;
	const struct image_list *lists;
	const struct image_secret *secrets;
	const uint32_t *args;
	struct table table;
	const char *text;
	size_t n_rules, n_targets, n_nodes, n_refs, n_lists, n_secrets, n_args;
	struct policy *overlay; /* grants that lie over it (overlay.h); NULL: none are in force */
};

static inline const void *image_at(const struct policy *p, enum image_section s)
{
	return p->base + p->header->sections[s].at;
}

static inline size_t image_bytes(const struct policy *p, enum image_section s)
{
	return p->header->sections[s].bytes;
}

#endif
