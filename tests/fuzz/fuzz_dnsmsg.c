/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes as a question (and its reply built), and as an upstream reply whose records are built
 * anew: what is built must be readable by the same parser.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/wire/dnsmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reply_to(const uint8_t *msg, const struct dnsmsg_query *q)
{
	uint8_t *out = malloc(DNSMSG_MIN_REPLY_BYTES);
	struct addr a = addr_from_v4(0xc6120101);
	struct dnsmsg_reply r;
	struct dnsmsg_reader reader;
	size_t len;

	dnsmsg_reply_init(&r, out, DNSMSG_MIN_REPLY_BYTES, msg, q);
	if (q)
		dnsmsg_add_addr(&r, &a, 60);
	len = dnsmsg_reply_end(&r, q, DNSMSG_NOERROR, DNSMSG_EDE_BLOCKED, "no", 2);
	assert(len <= DNSMSG_MIN_REPLY_BYTES);
	assert(out[0] == msg[0] && out[1] == msg[1] && out[2] & 0x80);
	if (q)
		assert(dnsmsg_read_start(&reader, out, len) == 0);
	free(out);
}

static void as_question(const uint8_t *msg, size_t len)
{
	struct dnsmsg_query q;
	struct addr a;
	int r = dnsmsg_parse_query(msg, len, &q);

	assert(r == 0 || r == -ENOMSG || r == -EOPNOTSUPP || r == -EBADMSG);
	if (r == -ENOMSG)
		return;
	if (r < 0) {
		reply_to(msg, NULL);
		return;
	}
	assert(strlen(q.name) == q.name_len);
	dnsmsg_parse_reverse(q.name, &a);
	reply_to(msg, &q);
}

static void rebuild(const uint8_t *msg, size_t len, const struct dnsmsg_record *rec)
{
	uint8_t *out = malloc(1024);
	char target[DNSMSG_NAME_BYTES];
	int n = dnsmsg_rebuild(msg, len, rec, out, 1024);

	assert(n <= 1024);
	if (rec->type == DNSMSG_HTTPS || rec->type == DNSMSG_SVCB)
		dnsmsg_read_target(msg, len, rec, target);
	if (n > 0) {
		/* built anew it stands alone: the same bytes come out again */
		struct dnsmsg_record alone = *rec;
		uint8_t *again = malloc(1024);

		alone.rdata_at = 0;
		alone.rdata_len = (size_t)n;
		assert(dnsmsg_rebuild(out, (size_t)n, &alone, again, 1024) == n);
		assert(!memcmp(out, again, (size_t)n));
		free(again);
	}
	free(out);
}

static void as_reply(const uint8_t *msg, size_t len)
{
	struct dnsmsg_reader reader;
	struct dnsmsg_record rec;
	struct dnsmsg_chain *chain = malloc(sizeof(*chain));

	if (dnsmsg_read_start(&reader, msg, len) == 0) {
		while (dnsmsg_read_next(&reader, &rec) > 0)
			rebuild(msg, len, &rec);
		if (dnsmsg_read_chain(msg, len, "a.example", chain) == 0)
			assert(chain->len <= sizeof(chain->names));
	}
	free(chain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* reads beyond the end show */

	memcpy(copy, data, size);
	as_question(copy, size);
	as_reply(copy, size);
	free(copy);
	return 0;
}
