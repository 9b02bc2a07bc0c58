/* SPDX-License-Identifier: GPL-2.0-only */
/* The environment of the sandboxed command: proxy variables in, what leads nowhere inside out. */
#ifndef NEJ_SANDBOX_ENVIRONMENT_H
#define NEJ_SANDBOX_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

struct environment_facts {
	const char *sandbox; /* name */
	const char *user;
	const char *home;
	const char *shell; /* NULL: left as it is */
	uint16_t proxy_port;
	bool has_anchors; /* trust files in ANCHORS_DIR */
	bool wants_java;  /* JAVA_TOOL_OPTIONS too: every JVM prints a line of it */
};

/* A new environment from an old one. NULL without memory; freed by environment_free. */
char **environment_make(char *const *old, const struct environment_facts *facts);
void environment_free(char **env);

/* Calls on_file for each certificate bundle that the caller's environment names by one of the variables
 * that has_anchors sets. */
void environment_each_bundle(
	void (*on_file)(void *arg, const char *variable, const char *path), void *arg);

/* Calls on_variable for each variable that a sandbox sets; old as above, or NULL. */
void environment_each(char *const *old, const struct environment_facts *facts,
	void (*on_variable)(void *arg, const char *name, const char *value), void *arg);

#endif
