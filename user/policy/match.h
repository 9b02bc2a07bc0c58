/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a target's method list or path pattern cover a request? */
#ifndef NEJ_POLICY_MATCH_H
#define NEJ_POLICY_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* list: `GET,HEAD`. Case-sensitive. */
bool match_method(const char *list, size_t list_len, const char *method, size_t method_len);

/* Both in the same reading of wire/url.h. The pattern covers the path itself and everything below
 * it at a segment boundary; one URL_STAR stands for any bytes of a segment, two for any bytes. */
bool match_path(const char *pattern, size_t pattern_len, const char *path, size_t path_len);
/* The same for a pattern in lower case, whatever the case of the path's ASCII letters. */
bool match_path_caseless(
	const char *pattern, size_t pattern_len, const char *path, size_t path_len);

/* A tool's name against one of `mcp.tools`: `*` stands for any bytes. Case-sensitive. */
bool match_tool(const char *pattern, size_t pattern_len, const char *name, size_t name_len);

#endif
