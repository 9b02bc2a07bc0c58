/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verdict of user space, all of it; see decide.h. Theory: walk.h yields the targets that name
 * the host, in the policy's order. Without a URL, targets that ask for one are passed over but
 * remembered; the first that does not ask settles the connection, unless what was passed over could
 * settle a request otherwise. With a URL the first target that matches settles it, in each reading
 * of the path, and the stricter reading holds.
 */
#include "decide.h"

#include <errno.h>

#include "../wire/url.h"
#include "draft.h"
#include "image.h"
#include "match.h"
#include "walk.h"

/* What is asked, once it is known which address or name and protocol it is about. */
struct question {
	const struct policy *policy;
	struct walk walk; /* at its beginning */
	enum opens_protocol protocol;
	uint16_t port;
	bool is_literal;
	const struct policy_ask *ask;
};

static struct policy_decision deny(enum nej_reason reason)
{
	return (struct policy_decision){
		.verdict = POLICY_DENY, .reason = reason, .rule = POLICY_NO_RULE};
}

/* The image that a target stands in. */
static const struct policy *owner_of(const struct policy *p, const struct image_target *t)
{
	return walk_is_granted(p, t) ? p->overlay : p;
}

static const struct image_rule *rule_of(const struct policy *p, const struct image_target *t)
{
	return t->rule == POLICY_NO_RULE ? NULL : &owner_of(p, t)->rules[t->rule];
}

static uint32_t number_of(const struct policy *p, const struct image_target *t)
{
	return walk_is_granted(p, t) ? NEJ_RULE_GRANT | p->overlay->rules[t->rule].line : t->rule;
}

/* No rule says anything. */
static struct policy_decision by_default(const struct question *q)
{
	if (q->protocol == OPENS_UDP)
		return deny(NEJ_REASON_UDP);
	if (q->is_literal)
		return deny(NEJ_REASON_ADDRESS_LITERAL);
	if (!q->policy->header->is_default_allow)
		return deny(NEJ_REASON_NO_RULE);
	return (struct policy_decision){
		.verdict = POLICY_ALLOW,
		.reason = NEJ_REASON_NO_RULE,
		.rule = POLICY_NO_RULE,
		.is_inspect = q->protocol == OPENS_HTTPS && q->walk.has_secret,
		.may_speak_first = q->port != 80 && q->port != 443,
	};
}

static struct policy_decision by_target(const struct question *q, const struct image_target *t)
{
	const struct image_rule *rule = rule_of(q->policy, t);
	struct policy_decision d = deny(rule ? NEJ_REASON_RULE : NEJ_REASON_NO_RULE);

	d.rule = number_of(q->policy, t);
	if (t->flags & IMAGE_DENY || !rule)
		return d;
	d.verdict = POLICY_ALLOW;
	d.transport = rule->transport;
	d.is_inspect = q->protocol == OPENS_HTTPS && (rule->is_inspect || q->walk.has_secret);
	d.may_speak_first = (t->flags & IMAGE_SPEAKS_FIRST) != 0;
	return d;
}

/* --- without a URL */

/* Grants only allow: to a host that the policy lets through whole they add nothing, and nobody has
 * to look inside for their sake. */
static struct policy_decision decide_connection(const struct question *q)
{
	const struct image_target *t, *passed = NULL, *opening = NULL, *granted = NULL;
	struct policy_decision d;
	struct walk walk;

	walk_copy(&walk, &q->walk);
	while ((t = walk_next(&walk))) {
		if (!opens_has(&t->opens, q->protocol, q->port))
			continue;
		if (!(t->flags & IMAGE_CONDITIONAL))
			break;
		if (walk_is_granted(q->policy, t)) {
			granted = granted ? granted : t;
			continue;
		}
		if (!passed)
			passed = t;
		if (!opening && !(t->flags & IMAGE_DENY))
			opening = t;
	}
	d = t ? by_target(q, t) : by_default(q);
	if (granted && (passed || d.verdict == POLICY_DENY))
		passed = opening = granted;
	if (!passed || (d.verdict == POLICY_DENY && !opening))
		return d;
	if (d.verdict == POLICY_DENY)
		d = by_target(q, opening);
	d.verdict = POLICY_NEED_URL;
	d.rule = number_of(q->policy, passed);
	d.reason = NEJ_REASON_RULE;
	d.is_inspect = q->protocol == OPENS_HTTPS;
	d.may_speak_first = false;
	return d;
}

/* --- with a URL */

struct url_text {
	char text[URL_MAX_PATH_BYTES];
	size_t len;
	int error; /* of reading it; -EILSEQ matters only if a rule looks at the path */
};

static bool covers_path(const struct policy *p, const struct image_target *t,
	enum url_reading reading, const struct url_text *path)
{
	struct image_text pattern = reading == URL_FULL ? t->full : t->plain;

	if (t->flags & IMAGE_CASELESS)
		return match_path_caseless(
			p->text + pattern.at, pattern.len, path->text, path->len);
	return match_path(p->text + pattern.at, pattern.len, path->text, path->len);
}

static struct policy_decision decide_reading(
	const struct question *q, enum url_reading reading, const struct url_text *path)
{
	const struct policy_ask *ask = q->ask;
	const struct image_target *t;
	struct walk walk;

	walk_copy(&walk, &q->walk);
	while ((t = walk_next(&walk))) {
		if (!opens_has(&t->opens, q->protocol, q->port))
			continue;
		if (t->flags & IMAGE_METHODS &&
			!match_method(owner_of(q->policy, t)->text + t->methods.at, t->methods.len,
				ask->method, ask->method_len))
			continue;
		if (t->flags & IMAGE_PATH) {
			if (path->error)
				return deny(NEJ_REASON_FRAMING);
			if (!covers_path(owner_of(q->policy, t), t, reading, path))
				continue;
		}
		return by_target(q, t);
	}
	return by_default(q);
}

static struct policy_decision decide_request(const struct question *q)
{
	static const enum url_reading readings[] = {URL_FULL, URL_PLAIN};
	struct policy_decision d = {0};
	struct url_text path;

	for (size_t i = 0; i < 2; i++) {
		struct policy_decision next;

		path.error = url_read_path(
			q->ask->path, q->ask->path_len, readings[i], path.text, &path.len);
		if (path.error == -EBADMSG)
			return deny(NEJ_REASON_FRAMING);
		next = decide_reading(q, readings[i], &path);
		if (i == 0 || (next.verdict == POLICY_DENY && d.verdict != POLICY_DENY))
			d = next;
	}
	return d;
}

/* TLS is opened only for hosts whose connection asks for it: others have no URL to decide by. */
static struct policy_decision decide_known(const struct question *q)
{
	struct policy_decision d = decide_connection(q), request;

	if (!q->ask->has_url || (q->protocol != OPENS_HTTP && q->protocol != OPENS_HTTPS) ||
		(q->protocol == OPENS_HTTPS && d.verdict != POLICY_NEED_URL && !d.is_inspect))
		return d;
	request = decide_request(q);
	request.is_inspect = d.is_inspect;
	return request;
}

/* --- without knowing the protocol */

/* The protocol a port is known for tells the rule and reason of a mixed answer. */
static size_t usual_protocol(uint16_t port, const struct policy_decision *d)
{
	size_t usual = port == 443 ? OPENS_HTTPS : port == 80 ? OPENS_HTTP : OPENS_TCP;

	if (d[usual].verdict != POLICY_DENY)
		return usual;
	for (size_t i = 0; i <= OPENS_TCP; i++)
		if (d[i].verdict != POLICY_DENY)
			return i;
	return usual;
}

static struct policy_decision decide_any(struct question *q)
{
	struct policy_decision d[OPENS_TCP + 1], result;
	bool is_alike = true;

	for (int i = 0; i <= OPENS_TCP; i++) {
		q->protocol = (enum opens_protocol)i;
		d[i] = decide_connection(q);
	}
	result = d[usual_protocol(q->port, d)];
	for (int i = 0; i <= OPENS_TCP; i++) {
		if (d[i].verdict != result.verdict)
			is_alike = false;
		if (d[i].verdict != POLICY_DENY && d[i].transport != result.transport)
			result.transport = POLICY_TRANSPORT_DIRECT;
	}
	if (!is_alike)
		result.verdict = POLICY_NEED_URL;
	result.is_inspect = d[OPENS_HTTPS].verdict != POLICY_DENY && d[OPENS_HTTPS].is_inspect;
	result.may_speak_first =
		d[OPENS_TCP].verdict == POLICY_ALLOW && d[OPENS_TCP].may_speak_first;
	return result;
}

static struct policy_decision decide_question(struct question *q)
{
	switch (q->ask->scheme) {
	case POLICY_SCHEME_HTTPS:
		q->protocol = OPENS_HTTPS;
		break;
	case POLICY_SCHEME_HTTP:
		q->protocol = OPENS_HTTP;
		break;
	case POLICY_SCHEME_TCP:
		q->protocol = OPENS_TCP;
		break;
	case POLICY_SCHEME_UDP:
		q->protocol = OPENS_UDP;
		break;
	default:
		return decide_any(q);
	}
	return decide_known(q);
}

/* --- addresses */

static bool is_private_covered(const struct policy *p, const struct addr *a)
{
	const struct prefix *list = image_at(p, IMAGE_PRIVATES);
	size_t n = image_bytes(p, IMAGE_PRIVATES) / sizeof(*list);

	if (p->header->private_mode != DRAFT_PRIVATE_LIST)
		return p->header->private_mode == DRAFT_PRIVATE_ALLOW;
	for (size_t i = 0; i < n; i++)
		if (list[i].bits <= 128 && prefix_has(&list[i], a))
			return true;
	return false;
}

enum nej_reason policy_check_resolved(const struct policy *p, const struct addr *addr)
{
	struct addr plain;
	enum nej_range range = addr_classify(addr, &plain);

	if (range == NEJ_RANGE_GLOBAL)
		return NEJ_REASON_NONE;
	if (range == NEJ_RANGE_PRIVATE && is_private_covered(p, &plain))
		return NEJ_REASON_NONE;
	return NEJ_REASON_PRIVATE_ADDRESS;
}

/* v4-mapped and 64:ff9b::/96 are ways to write (or translate to) the IPv4 address itself; 6to4,
 * Teredo and the like lead elsewhere, so rules see them as they are. */
static bool is_written_v4(const struct addr *a)
{
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

	return addr_is_v4(a) || !memcmp(a->b, nat64, sizeof(nat64));
}

static enum nej_reason special_reason(enum nej_range range)
{
	switch (range) {
	case NEJ_RANGE_LOOPBACK:
		return NEJ_REASON_LOOPBACK;
	case NEJ_RANGE_LINK_LOCAL:
		return NEJ_REASON_PRIVATE_ADDRESS;
	case NEJ_RANGE_MULTICAST:
		return NEJ_REASON_MULTICAST;
	default:
		return NEJ_REASON_NONE;
	}
}

/* decide is what remains to be asked when the address is none of the special ones. */
static struct policy_decision decide_literal(struct question *q, const struct addr *a,
	struct policy_decision (*decide)(struct question *))
{
	struct addr plain;
	enum nej_range range = addr_classify(a, &plain);
	enum nej_reason special = special_reason(range);
	struct policy_decision d, embedded;

	if (special != NEJ_REASON_NONE)
		return deny(special);
	q->is_literal = true;
	walk_addr(q->policy, is_written_v4(a) ? &plain : a, &q->walk);
	d = decide(q);
	if (d.verdict == POLICY_DENY)
		return d;
	if (range == NEJ_RANGE_PRIVATE && !is_private_covered(q->policy, &plain)) {
		embedded = deny(NEJ_REASON_PRIVATE_ADDRESS);
		embedded.rule = d.rule;
		return embedded;
	}
	if (is_written_v4(a) || addr_equal(a, &plain))
		return d;
	/* A deny of the embedded address holds too. */
	walk_addr(q->policy, &plain, &q->walk);
	embedded = decide(q);
	return embedded.verdict == POLICY_DENY && embedded.rule != POLICY_NO_RULE ? embedded : d;
}

static struct policy_decision decide_host(struct question *q, const struct host *host,
	struct policy_decision (*decide)(struct question *))
{
	if (host->kind == HOST_ADDR)
		return decide_literal(q, &host->addr, decide);
	if (host->is_local)
		return deny(NEJ_REASON_LOOPBACK);
	walk_host(q->policy, host, &q->walk);
	return decide(q);
}

void policy_decide(
	const struct policy *p, const struct policy_ask *ask, struct policy_decision *ret)
{
	struct question q;

	q.policy = p;
	q.port = ask->port;
	q.is_literal = false;
	q.ask = ask;
	*ret = decide_host(&q, ask->host, decide_question);
}

/* --- names */

/* Do denials before `limit` shut all these ports? */
static bool is_shut(const struct question *q, const struct image_target *limit,
	enum opens_protocol protocol, struct opens_ports ports)
{
	unsigned int port = ports.first;

	while (port <= ports.last) {
		const struct image_target *t;
		unsigned int last = 0;
		struct walk walk;

		walk_copy(&walk, &q->walk);
		while ((t = walk_next(&walk)) && t != limit)
			if (t->flags & IMAGE_DENY && !(t->flags & IMAGE_CONDITIONAL) &&
				opens_has(&t->opens, protocol, (uint16_t)port) &&
				t->opens.ports[protocol].last > last)
				last = t->opens.ports[protocol].last;
		if (!last)
			return false;
		port = last + 1;
	}
	return true;
}

/* Can some request get to this target (NULL: the default) and not be denied before? */
static bool is_reachable(
	const struct question *q, const struct image_target *t, const struct opens *opens)
{
	for (int i = 0; i < OPENS_COUNT; i++)
		if (opens->ports[i].first &&
			!is_shut(q, t, (enum opens_protocol)i, opens->ports[i]))
			return true;
	return false;
}

/* A denial that is the answer where nothing else is: one that shuts the web's ports. */
static bool is_telling(const struct image_target *t)
{
	return opens_has(&t->opens, OPENS_HTTPS, 443) || opens_has(&t->opens, OPENS_HTTP, 80);
}

static struct policy_decision decide_name(struct question *q)
{
	static const struct opens every = {.ports = {[OPENS_HTTPS] = {1, 65535},
						   [OPENS_HTTP] = {1, 65535},
						   [OPENS_TCP] = {1, 65535}}};
	const struct image_target *t, *denial = NULL;
	struct policy_decision d;
	bool is_denied = false;
	struct walk walk;

	walk_copy(&walk, &q->walk);
	while ((t = walk_next(&walk))) {
		if (!(t->flags & IMAGE_DENY)) {
			if (!is_denied || is_reachable(q, t, &t->opens))
				return by_target(q, t);
		} else if (!(t->flags & IMAGE_CONDITIONAL)) {
			is_denied = true;
			if (!denial && is_telling(t))
				denial = t;
		}
	}
	q->protocol = OPENS_HTTPS;
	d = by_default(q);
	if (d.verdict != POLICY_DENY && is_denied && !is_reachable(q, NULL, &every))
		d = deny(NEJ_REASON_NO_RULE);
	return d.verdict == POLICY_DENY && denial ? by_target(q, denial) : d;
}

void policy_decide_dns(const struct policy *p, const struct host *name, struct policy_decision *ret)
{
	struct question q;

	q.policy = p;
	q.protocol = OPENS_HTTPS;
	q.port = 443;
	q.is_literal = false;
	q.ask = NULL;
	*ret = decide_host(&q, name, decide_name);
}
