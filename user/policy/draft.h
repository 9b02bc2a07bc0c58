/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy as it was read and found whole: plain data between parse.c and compile.c. Lives in the
 * arena of one load and dies with it.
 */
#ifndef NEJ_POLICY_DRAFT_H
#define NEJ_POLICY_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/addr.h"
#include "../base/buf.h"
#include "arena.h"
#include "decide.h"
#include "pattern.h"
#include "secret.h"

#define DRAFT_MAX_LISTS 64       /* `list:` targets of one policy: error */
#define DRAFT_MAX_RESOLVERS 16   /* error */
#define DRAFT_MAX_ENTRIES 1024   /* secrets, unix paths, CIDRs of `private`: error */
#define DRAFT_MAX_UPSTREAMS 64   /* error */
#define DRAFT_MAX_TOOL_BYTES 128 /* the longest name the MCP specification knows: error */

enum draft_private {
	DRAFT_PRIVATE_DENY,
	DRAFT_PRIVATE_ALLOW,
	DRAFT_PRIVATE_LIST,
};

struct draft_rule {
	bool is_deny;
	bool is_inspect;
	bool is_caseless;
	bool has_transport, has_inspect, has_limits; /* written out */
	bool has_mcp, has_hosted;                    /* written out */
	bool denies_hosted;
	uint8_t transport; /* enum policy_transport */
	unsigned int line, column;
	const char *text; /* as written, on one line */
	const char *note;
	const char *via; /* NULL without one */
	unsigned int via_line, via_column;
	struct policy_limits limits;
	uint32_t first_pattern, n_patterns;
	uint32_t upstream;            /* of `transport: upstream`: index of draft.upstreams */
	uint32_t first_tool, n_tools; /* mcp.tools */
	uint64_t expiry_ns;           /* of a grant */
};

struct draft_tool {
	const char *text; /* `*` stands for any run of characters */
	size_t len;
};

struct draft_list {
	const char *path; /* as written */
	char *data;       /* the file, malloc'd; NULL after compiling */
	size_t len;
	unsigned int line, column; /* where the policy names it */
	uint32_t rule;
	size_t n_names;  /* filled by compiling */
	const char *top; /* the first name without a dot, for a warning; NULL */
	unsigned int top_line;
};

struct draft_secret {
	const char *name;
	unsigned int line, column;
	uint8_t source; /* enum policy_source_kind */
	uint8_t in;     /* enum policy_secret_in, or-ed */
	bool is_aws;
	const char *key_id; /* NULL without one */
	uint32_t first_arg, n_args;
	uint32_t first_host, n_hosts;
};

struct draft_upstream {
	const char *name;
	const char *ca_path; /* as written; NULL */
	const char *ca;      /* the file, PEM */
	size_t ca_len;
	const char *username, *password; /* NULL without */
	struct host host;
	uint16_t port;
	bool is_tls;
	bool is_by_name; /* connect: name */
};

struct draft {
	struct arena arena;
	bool is_default_allow;
	bool denies_inbound;
	bool hides_allowed; /* audit: {allowed: false} */
	bool fails_open;    /* audit: {on_failure: continue} */
	bool has_unix_list;
	uint8_t private_mode; /* enum draft_private */
	uint8_t dns;          /* enum policy_dns_mode */
	struct policy_limits limits;

	struct buf rules;        /* struct draft_rule */
	struct buf patterns;     /* struct pattern, in rule order */
	struct buf tools;        /* struct draft_tool, in rule order */
	struct buf lists;        /* struct draft_list */
	struct buf secrets;      /* struct draft_secret */
	struct buf secret_hosts; /* struct pattern */
	struct buf secret_args;  /* const char *: variable, path, or words of a command */
	struct buf upstreams;    /* struct draft_upstream */
	struct buf privates;     /* struct prefix */
	struct buf host_ports;   /* uint16_t */
	struct buf resolvers;    /* struct endpoint */
	struct buf unix_paths;   /* const char * */
};

#define DRAFT_COUNT(b, type) ((b).len / sizeof(type))
#define DRAFT_AT(b, type, i) (&((type *)(void *)(b).data)[i])

#endif
