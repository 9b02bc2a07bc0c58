/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder with a log of a test's own, events to put there, and its lines as they came. */
#ifndef NEJ_TEST_AUDIT_FOLDER_H
#define NEJ_TEST_AUDIT_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../user/audit/sink.h"
#include "../../../user/audit/verify.h"
#include "../../../user/base/clock.h"
#include "../../../user/base/file.h"

struct folder {
	char dir[64];
	char log[96], key[96], pub[128], head[128];
};

static inline void folder_make(struct folder *f)
{
	snprintf(f->dir, sizeof(f->dir), "/tmp/nej-audit-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->log, sizeof(f->log), "%s/a.jsonl", f->dir);
	snprintf(f->head, sizeof(f->head), "%s.head", f->log);
	snprintf(f->key, sizeof(f->key), "%s/keys/audit.key", f->dir);
	snprintf(f->pub, sizeof(f->pub), "%s/keys/audit.pub", f->dir);
}

static inline void folder_remove(const struct folder *f)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	assert_int_equal(system(command), 0);
}

static inline struct audit_sink_options folder_options(const struct folder *f)
{
	return (struct audit_sink_options){
		.path = f->log, .sandbox = "box", .key_path = f->key, .rotate_keep = 3};
}

static inline struct audit_sink *folder_open(const struct folder *f)
{
	struct audit_sink_options o = folder_options(f);
	struct audit_sink *sink = NULL;

	assert_int_equal(audit_sink_open(&o, &sink), 0);
	return sink;
}

static inline struct audit_text text(const char *s)
{
	return (struct audit_text){s, s ? (uint32_t)strlen(s) : 0};
}

static inline struct audit_event event_of(enum audit_kind kind, const char *host)
{
	return (struct audit_event){
		.kind = (uint8_t)kind,
		.layer = AUDIT_LAYER_PROXY,
		.reason = kind == AUDIT_NETWORK_ALLOWED ? NEJ_REASON_RULE : NEJ_REASON_NO_RULE,
		.proto = IPPROTO_TCP,
		.app = AUDIT_APP_TLS,
		.port = 443,
		.rule = AUDIT_NO_RULE,
		.pid = 42,
		.uid = 1001,
		.comm = "curl",
		.count = 1,
		.time_us = clock_real_us(),
		.host = text(host),
	};
}

/* Adds so many allowed attempts and writes them. */
static inline void folder_write(struct audit_sink *sink, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "api.allowed.test");

		audit_sink_add(sink, &e);
	}
	audit_sink_flush(sink);
}

static inline struct verify_result folder_verify(const struct folder *f)
{
	struct chain_key *key = NULL;
	struct verify_result v;

	assert_int_equal(chain_key_load_public(f->pub, &key), 0);
	assert_int_equal(verify_log(f->log, key, &v), 0);
	chain_key_free(key);
	return v;
}

/* The whole file, NUL behind. */
static inline char *folder_read(const char *path, size_t *ret_len)
{
	char *data = NULL;

	assert_int_equal(file_read(path, 256u << 20, &data, ret_len), 0);
	return data;
}

static inline size_t folder_count(const char *path, const char *needle)
{
	size_t len, n = 0;
	char *data = folder_read(path, &len);

	/* Not strstr: the sanitizer measures all of the rest at each call. */
	for (const char *p = data;
		(p = memmem(p, (size_t)(data + len - p), needle, strlen(needle)));
		p += strlen(needle))
		n++;
	free(data);
	return n;
}

#endif
