/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One line of a log as plain data, for the commands that show logs. Any line may come: from a newer
 * version, torn, or written by somebody else. Whether it is true is verify.h's question.
 */
#ifndef NEJ_AUDIT_READ_H
#define NEJ_AUDIT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts are borrowed from json; NULL where the record has null or nothing. They may hold any byte
 * but NUL. */
struct audit_record {
	struct json_t *json;
	uint64_t seq, count; /* count: at least 0; 1 when it is not given */
	const char *time, *event, *layer, *reason, *proto, *app, *host, *addr, *method, *url;
	const char *comm, *rule_text, *note, *detail;
	unsigned int rule_line; /* 0: no rule, or a grant */
	unsigned int port, status;
	uint64_t pid;
	bool is_denied; /* network_blocked or dns_blocked */
};

/* False: not a JSON object. A text with a NUL is cut there. */
bool audit_record_parse(const char *line, size_t len_bytes, struct audit_record *ret);
void audit_record_done(struct audit_record *r);

#endif
