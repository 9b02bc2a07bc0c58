/* SPDX-License-Identifier: GPL-2.0-only */
/* Refusals; see refuse.h. */
#include "refuse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../wire/hop.h"
#include "../wire/socks5.h"
#include "pump.h"
#include "quota.h"

#define MAX_SHOWN_BYTES 512 /* of a text the client sent, repeated to it */

/* --- what each reason is in each protocol; 0: refused by policy, 403, access_denied, not allowed */

enum alert {
	ALERT_ACCESS_DENIED = 49,
	ALERT_DECODE_ERROR = 50,
	ALERT_INTERNAL_ERROR = 80,
	ALERT_UNRECOGNIZED_NAME = 112,
};

static const struct {
	uint16_t status;
	uint8_t alert, reply;
} answers[NEJ_REASON_COUNT] = {
	[NEJ_REASON_HOST_MISMATCH] = {421, 0, 0},
	[NEJ_REASON_MALFORMED_HOST] = {400, ALERT_UNRECOGNIZED_NAME, SOCKS5_FAILURE},
	[NEJ_REASON_NO_NAME] = {0, ALERT_UNRECOGNIZED_NAME, 0},
	[NEJ_REASON_FRAMING] = {400, ALERT_DECODE_ERROR, SOCKS5_FAILURE},
	[NEJ_REASON_SECRET_UNAVAILABLE] = {503, ALERT_INTERNAL_ERROR, SOCKS5_FAILURE},
	[NEJ_REASON_LIMIT] = {503, ALERT_INTERNAL_ERROR, SOCKS5_FAILURE},
	[NEJ_REASON_CREDENTIALS] = {407, 0, 0},
	[NEJ_REASON_POLICY_UNAVAILABLE] = {503, ALERT_INTERNAL_ERROR, SOCKS5_FAILURE},
	[NEJ_REASON_AUDIT_UNAVAILABLE] = {503, ALERT_INTERNAL_ERROR, SOCKS5_FAILURE},
	[NEJ_REASON_UPSTREAM_REFUSED] = {502, ALERT_INTERNAL_ERROR, SOCKS5_REFUSED},
	[NEJ_REASON_RESOLVE_FAILED] = {502, ALERT_INTERNAL_ERROR, SOCKS5_UNREACHABLE},
	[NEJ_REASON_INTERNAL] = {500, ALERT_INTERNAL_ERROR, SOCKS5_FAILURE},
};

uint16_t refuse_status(const struct refusal *why)
{
	if (why->answer)
		return why->answer->status;
	if (why->error == -ETIMEDOUT)
		return 504;
	if (why->limit != QUOTA_NONE)
		return 429; /* RFC 6585 section 4 */
	return answers[why->reason].status ? answers[why->reason].status : 403;
}

uint8_t refuse_alert(enum nej_reason reason)
{
	return answers[reason].alert ? answers[reason].alert : ALERT_ACCESS_DENIED;
}

static enum socks5_reply reply_of(enum nej_reason reason)
{
	return answers[reason].reply ? answers[reason].reply : SOCKS5_NOT_ALLOWED;
}

static const char *phrase_of(uint16_t status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 407:
		return "Proxy Authentication Required";
	case 413:
		return "Content Too Large";
	case 415:
		return "Unsupported Media Type";
	case 421:
		return "Misdirected Request";
	case 429:
		return "Too Many Requests";
	case 500:
		return "Internal Server Error";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	default:
		return "Forbidden";
	}
}

/* --- texts */

/* What the client sent, made harmless and short. */
static void add_shown(struct buf *b, struct http1_text t)
{
	size_t n = t.len < MAX_SHOWN_BYTES ? t.len : MAX_SHOWN_BYTES;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)t.ptr[i];

		if (c < ' ' || c > '~')
			buf_printf(b, "\\x%02x", c);
		else
			buf_add_char(b, (char)c);
	}
	if (n < t.len)
		buf_add_str(b, "...");
}

static void add_asked(struct buf *b, const struct ask *ask)
{
	if (ask->url.len) {
		add_shown(b, ask->method);
		buf_add_char(b, ' ');
		add_shown(b, ask->url);
		return;
	}
	if (ask->method.len) {
		add_shown(b, ask->method);
		buf_add_char(b, ' ');
	}
	if (ask->host)
		hop_print_authority(ask->host, ask->port, 0, b);
	else
		add_shown(b, ask->as_sent);
}

static bool is_policy(enum nej_reason reason)
{
	return reason == NEJ_REASON_NO_RULE || reason == NEJ_REASON_ADDRESS_LITERAL ||
		reason == NEJ_REASON_UNKNOWN_PROTOCOL;
}

/* The rule that would allow it. */
static void add_rule_wanted(struct buf *b, const struct ask *ask)
{
	const char *query = ask->url.len ? memchr(ask->url.ptr, '?', ask->url.len) : NULL;

	buf_add_str(b, "- allow: ");
	if (ask->url.len) {
		add_shown(b, ask->method);
		buf_add_char(b, ' ');
		add_shown(b,
			(struct http1_text){ask->url.ptr,
				query ? (size_t)(query - ask->url.ptr) : ask->url.len});
		return;
	}
	hop_print_authority(
		ask->host, ask->port, ask->port == 443 || ask->port == 80 ? ask->port : 0, b);
}

static void add_advice_of_limit(struct buf *b, const struct refusal *why)
{
	if (why->limit == QUOTA_BYTES)
		buf_add_str(b,
			"Do not retry: the policy allows no more bytes. If the task needs "
			"them, ask the operator to raise the limit.");
	else if (why->retry_s)
		buf_printf(b, "The policy allows it; try again in %u s.", why->retry_s);
	else
		buf_add_str(b, "The policy allows it; it may be tried again later.");
}

static void add_advice(struct buf *b, const struct ask *ask, const struct refusal *why)
{
	switch (why->reason) {
	case NEJ_REASON_RULE:
		buf_add_str(b,
			"Do not retry: the policy denies it on purpose. If the task cannot "
			"be done without it, tell the operator.");
		return;
	case NEJ_REASON_FRAMING:
	case NEJ_REASON_MALFORMED_HOST:
	case NEJ_REASON_HOST_MISMATCH:
	case NEJ_REASON_NO_NAME:
		buf_add_str(b, "Do not retry as it is: correct the request.");
		return;
	case NEJ_REASON_UPSTREAM_REFUSED:
	case NEJ_REASON_RESOLVE_FAILED:
	case NEJ_REASON_SECRET_UNAVAILABLE:
	case NEJ_REASON_AUDIT_UNAVAILABLE:
		buf_add_str(b, "The policy allows it; it may be tried again later.");
		return;
	case NEJ_REASON_LIMIT:
		add_advice_of_limit(b, why);
		return;
	case NEJ_REASON_CREDENTIALS:
		buf_add_str(b,
			"Do not retry as it is: send Proxy-Authorization with the name and "
			"password of this sandbox.");
		return;
	case NEJ_REASON_POLICY_UNAVAILABLE:
		buf_add_str(b, "It may be tried again once the operator has mended the policy.");
		return;
	case NEJ_REASON_HALTED:
		buf_add_str(b, "Do not retry: the operator has halted this sandbox's network.");
		return;
	default:
		break;
	}
	buf_add_str(b, "Do not retry: it stays refused until the policy changes.");
	if (!is_policy(why->reason) || !ask->host)
		return;
	buf_add_str(b, " If the task needs it, ask the operator to add `");
	add_rule_wanted(b, ask);
	buf_add_str(b, "` to the policy.");
}

static void add_plain(struct buf *b, const struct policy *policy, const struct ask *ask,
	const struct refusal *why)
{
	struct policy_rule_info rule;

	buf_add_str(b, "nej refused this request.\n\nasked:  ");
	add_asked(b, ask);
	buf_printf(
		b, "\nreason: %s (%s)\n", reason_word(why->reason), reason_sentence(why->reason));
	if (policy_rule(policy, why->rule, &rule)) {
		buf_add_str(b, "rule:   ");
		if (rule.line)
			buf_printf(b, "line %u: ", rule.line);
		buf_printf(b, "%s\n", rule.text);
		if (rule.note)
			buf_printf(b, "note:   %s\n", rule.note);
	} else if (!policy_has_rules(policy)) {
		buf_add_str(b, "rule:   none; the policy has no allow rules\n");
	}
	if (why->detail)
		buf_printf(b, "detail: %s\n", why->detail);
	if (why->error)
		buf_printf(b, "error:  %s\n", strerror(-why->error));
	buf_add_char(b, '\n');
	add_advice(b, ask, why);
	buf_add_char(b, '\n');
}

static void add_json_text(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, ",\"%s\":", key);
	if (text)
		buf_add_json(b, text, strlen(text), MAX_SHOWN_BYTES);
	else
		buf_add_str(b, "null");
}

static void add_json(struct buf *b, const struct policy *policy, const struct ask *ask,
	const struct refusal *why)
{
	struct buf part;
	struct policy_rule_info rule;

	buf_init(&part);
	add_asked(&part, ask);
	buf_add_str(b, "{\"error\":\"refused by nej\"");
	add_json_text(b, "reason", reason_word(why->reason));
	add_json_text(b, "message", reason_sentence(why->reason));
	add_json_text(b, "asked", part.data ? part.data : "");
	if (policy_rule(policy, why->rule, &rule)) {
		buf_printf(b, ",\"rule\":{\"line\":%u", rule.line);
		add_json_text(b, "text", rule.text);
		add_json_text(b, "note", rule.note);
		buf_add_char(b, '}');
	} else {
		buf_add_str(b, ",\"rule\":null");
	}
	add_json_text(b, "detail", why->detail);
	add_json_text(b, "errno", why->error ? strerror(-why->error) : NULL);
	buf_clear(&part);
	add_advice(&part, ask, why);
	add_json_text(b, "advice", part.data);
	buf_add_str(b, "}\n");
	buf_done(&part);
}

void refuse_print(const struct policy *policy, const struct ask *ask, const struct refusal *why,
	const struct refuse_shape *shape, struct buf *out)
{
	bool is_given = why->answer && why->answer->body;
	uint16_t status = refuse_status(why);
	struct buf body;
	char retry[40] = "";

	if (why->retry_s)
		snprintf(retry, sizeof(retry), "Retry-After: %u\r\n", why->retry_s);
	buf_init(&body);
	if (is_given)
		buf_add(&body, why->answer->body, why->answer->body_len);
	else if (ask->wants_json)
		add_json(&body, policy, ask, why);
	else
		add_plain(&body, policy, ask, why);
	buf_printf(out,
		"HTTP/1.1 %u %s\r\nX-Nej-Reason: %s\r\nContent-Type: %s\r\n"
		"Cache-Control: no-store\r\nContent-Length: %zu\r\n%s%s%s\r\n",
		status, phrase_of(status), reason_word(why->reason),
		is_given || ask->wants_json ? "application/json" : "text/plain; charset=utf-8",
		body.len,
		status == 407 ? "Proxy-Authenticate: Basic realm=\"nej\", charset=\"UTF-8\"\r\n"
			      : "",
		retry, shape->is_close ? "Connection: close\r\n" : "");
	if (!shape->is_head)
		buf_add(out, body.data, body.len);
	out->is_failed |= body.is_failed;
	buf_done(&body);
}

/* --- answers while a connection is being set up */

static int send_alert(struct conn *c, enum nej_reason reason)
{
	const uint8_t record[] = {21, 3, 3, 0, 2, 2, refuse_alert(reason)};

	return half_send(c, &c->server, &c->client, record, sizeof(record), 0);
}

static int send_reply(struct conn *c, enum nej_reason reason)
{
	uint8_t reply[SOCKS5_REPLY_BYTES];

	socks5_print_reply(reply_of(reason), reply);
	return half_send(c, &c->server, &c->client, reply, sizeof(reply), 0);
}

static int send_response(struct conn *c, const struct ask *ask, const struct refusal *why)
{
	const struct refuse_shape shape = {.is_close = true};
	struct buf *out = &c->proxy->out;

	buf_clear(out);
	refuse_print(*c->proxy->o.policy, ask, why, &shape, out);
	if (out->is_failed)
		return -ENOMEM;
	return half_send(c, &c->server, &c->client, out->data, out->len, 0);
}

int refuse_connection(struct conn *c, const struct ask *ask, const struct refusal *why)
{
	bool is_http = !c->setup->is_answered && (ask->app == AUDIT_APP_HTTP || ask->method.len);
	bool is_tls = c->setup->app == AUDIT_APP_TLS;
	int r;

	record_refused(c, ask, why, is_http && !is_tls ? refuse_status(why) : 0);
	if (is_tls)
		r = send_alert(c, why->reason);
	else if (c->setup->kind == SETUP_SOCKS)
		r = send_reply(c, why->reason);
	else if (is_http)
		r = send_response(c, ask, why);
	else
		return CONN_RESET;
	return r < 0 ? r : conn_finish(c, !c->client.is_readable);
}
