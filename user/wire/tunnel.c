/* SPDX-License-Identifier: GPL-2.0-only */
/* CONNECT through a forward proxy; see tunnel.h. */
#include "tunnel.h"

#include <errno.h>
#include <string.h>

#include "basic.h"
#include "hop.h"

void tunnel_print(const struct tunnel_request *t, struct buf *out)
{
	buf_add_str(out, "CONNECT ");
	hop_print_authority(t->to, t->port, 0, out);
	buf_add_str(out, " HTTP/1.1\r\nHost: ");
	hop_print_authority(t->to, t->port, 0, out);
	if (t->username) {
		buf_add_str(out, "\r\nProxy-Authorization: ");
		basic_print(t->username, t->password ? t->password : "", out);
	}
	if (t->name) {
		buf_add_str(out, "\r\n" TUNNEL_NAME_FIELD ": ");
		hop_print_authority(t->name, t->port, 0, out);
	}
	buf_add_str(out, "\r\n\r\n");
}

/* Words of ours and nothing else: it is shown to people. */
static bool is_word(struct http1_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!((t.ptr[i] >= 'a' && t.ptr[i] <= 'z') || t.ptr[i] == '-'))
			return false;
	return t.len > 0 && t.len < 32;
}

static struct http1_text find_reason(const struct http1_head *head)
{
	for (size_t i = 0; i < head->n_fields; i++)
		if (http1_text_is(head->fields[i].name, "x-nej-reason") &&
			is_word(head->fields[i].value))
			return head->fields[i].value;
	return (struct http1_text){0};
}

int tunnel_parse(
	const char *data, size_t len_bytes, struct http1_head *head, struct tunnel_answer *ret)
{
	size_t at = 0;

	for (;;) {
		size_t n = http1_head_end(data + at, len_bytes - at);

		if (!n)
			return len_bytes < TUNNEL_MAX_ANSWER_BYTES ? 0 : -E2BIG;
		/* as if to HEAD: no body belongs to the answer (RFC 9110 section 9.3.6) */
		if (http1_parse_response(data + at, n, true, head) < 0)
			return -EBADMSG;
		at += n;
		if (head->status == 101)
			return -EBADMSG;
		if (head->status < 200)
			continue;
		*ret = (struct tunnel_answer){
			.status = head->status,
			.head_bytes = at,
			.phrase = head->phrase,
			.reason = find_reason(head),
		};
		return 1;
	}
}
