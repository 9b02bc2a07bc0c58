/* SPDX-License-Identifier: GPL-2.0-only */
/* A line of a log as plain data; see read.h. */
#include "read.h"

#include <jansson.h>
#include <string.h>

static const char *text_of(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static uint64_t number_of(const json_t *json, const char *key, uint64_t absent, uint64_t max)
{
	const json_t *value = json_object_get(json, key);
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0)
		return absent;
	return (uint64_t)n < max ? (uint64_t)n : max;
}

bool audit_record_parse(const char *line, size_t len_bytes, struct audit_record *ret)
{
	json_t *json = json_loadb(line, len_bytes, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	const json_t *rule = json_object_get(json, "rule");

	if (!json_is_object(json)) {
		json_decref(json);
		return false;
	}
	*ret = (struct audit_record){
		.json = json,
		.seq = number_of(json, "seq", 0, UINT64_MAX),
		.count = number_of(json, "count", 1, UINT32_MAX),
		.time = text_of(json, "time"),
		.event = text_of(json, "event"),
		.layer = text_of(json, "layer"),
		.reason = text_of(json, "reason"),
		.proto = text_of(json, "proto"),
		.app = text_of(json, "app"),
		.host = text_of(json, "host"),
		.addr = text_of(json, "addr"),
		.method = text_of(json, "method"),
		.url = text_of(json, "url"),
		.comm = text_of(json, "comm"),
		.note = text_of(json, "note"),
		.detail = text_of(json, "detail"),
		.rule_text = text_of(rule, "text"),
		.rule_line = (unsigned int)number_of(rule, "line", 0, 1u << 30),
		.port = (unsigned int)number_of(json, "port", 0, UINT16_MAX),
		.status = (unsigned int)number_of(json, "status", 0, 999),
		.pid = number_of(json, "pid", 0, UINT32_MAX),
	};
	ret->is_denied = ret->event &&
		(strcmp(ret->event, "network_blocked") == 0 ||
			strcmp(ret->event, "dns_blocked") == 0);
	return true;
}

void audit_record_done(struct audit_record *r)
{
	json_decref(r->json);
	r->json = NULL;
}
