/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a YAML file to a compiled policy: load (parse.c), compile (compile.c), map. Errors are
 * values with line, column and mend; a policy with any error yields nothing.
 */
#ifndef NEJ_POLICY_POLICY_H
#define NEJ_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "decide.h"

/* Loads and compiles. errs gets errors and warnings; 0 with an image in *ret, -EINVAL with errors
 * in errs, other negative errno when the file cannot be read. */
int policy_load(const char *path, struct err_list *errs, struct policy **ret);
/* The same from memory; dir (may be NULL) is where `list:` files are looked for. */
int policy_load_text(const char *text, size_t len_bytes, const char *dir, struct err_list *errs,
	struct policy **ret);
void policy_free(struct policy *p);

/* The image as a sealed memfd (borrowed), and a policy mapped from one (worker). The image is
 * checked when mapped: -EINVAL for anything that does not hold together. */
int policy_fd(const struct policy *p);
int policy_map(int fd, struct policy **ret);

/* What the kernel side needs of a policy, see kernel/apply.h. */
struct policy_port {
	uint8_t proto; /* IPPROTO_TCP, IPPROTO_UDP */
	uint16_t first, last;
	bool is_eager; /* a rule of scheme tcp (or none, with a port): the server may speak first */
};

struct policy_range { /* a CIDR rule with transport: kernel */
	uint8_t proto;
	uint16_t first, last; /* ports */
	struct prefix prefix;
	uint32_t rule;
};

size_t policy_ports(const struct policy *p, const struct policy_port **ret);
size_t policy_kernel_ranges(const struct policy *p, const struct policy_range **ret);
size_t policy_host_ports(const struct policy *p, const uint16_t **ret);
bool policy_denies_inbound(const struct policy *p);
/* Some rule lets the program's own socket out: the sandbox must have the host's routes for it. */
bool policy_has_kernel_transport(const struct policy *p);
/* Some rule (or `default: allow`) opens every TCP port: policy_ports covers 1 to 65535 then. */
bool policy_opens_any_port(const struct policy *p);
/* `unix:` path number i (`@` begins an abstract name), NULL behind the last. None: private. */
const char *policy_unix_path(const struct policy *p, size_t i);
/* File number i of lists and `ca` as the policy names it (relative: to the policy's folder), NULL
 * behind the last. */
const char *policy_list_path(const struct policy *p, size_t i);
/* Rules, and hosts named by rules and lists. */
void policy_count(const struct policy *p, size_t *ret_rules, size_t *ret_hosts);

#endif
