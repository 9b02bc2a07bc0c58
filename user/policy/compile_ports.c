/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports and ranges for the kernel side; see compile_ports.h. */
#include "compile_ports.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "policy.h"

#define N_PORTS 65536

/* How many targets open a port is the sum of the steps up to it: one addition a range. */
struct steps {
	int32_t open[N_PORTS + 1], eager[N_PORTS + 1];
};

static void add_step(int32_t *steps, struct opens_ports p)
{
	if (!p.first)
		return;
	steps[p.first]++;
	steps[p.last + 1]--;
}

/* All protocols of TCP, or UDP. */
static void add_opens(struct steps *s, const struct opens *o, bool is_udp, bool is_eager)
{
	for (int i = 0; i < OPENS_COUNT; i++) {
		if ((i == OPENS_UDP) != is_udp)
			continue;
		add_step(s->open, o->ports[i]);
		if (is_eager)
			add_step(s->eager, o->ports[i]);
	}
}

static void add_default(struct steps *s)
{
	static const struct opens_ports waiting[] = {{80, 80}, {443, 443}};
	static const struct opens_ports eager[] = {{1, 79}, {81, 442}, {444, 65535}};

	for (size_t i = 0; i < 2; i++)
		add_step(s->open, waiting[i]);
	for (size_t i = 0; i < 3; i++) {
		add_step(s->open, eager[i]);
		add_step(s->eager, eager[i]);
	}
}

static void add_rules(struct steps *s, const struct draft *d, bool is_udp)
{
	for (size_t i = 0; i < DRAFT_COUNT(d->patterns, struct pattern); i++) {
		const struct pattern *p = DRAFT_AT(d->patterns, struct pattern, i);
		const struct draft_rule *rule = DRAFT_AT(d->rules, struct draft_rule, p->rule);
		bool is_kernel = rule->transport == POLICY_TRANSPORT_KERNEL;
		bool is_eager =
			p->scheme == PATTERN_TCP || (p->scheme == PATTERN_NO_SCHEME && p->has_port);
		struct opens opens[OPENS_MAX];
		size_t n = rule->is_deny ? 0 : opens_of(p, false, is_kernel, opens);

		for (size_t k = 0; k < n; k++)
			add_opens(s, &opens[k], is_udp, is_eager);
	}
}

/* Rows of equal state; true when every port is open. */
static bool print_rows(const struct steps *s, uint8_t proto, struct buf *ports)
{
	struct policy_port row = {.proto = proto};
	int32_t open = 0, eager = 0;
	bool is_every = true;

	for (unsigned int port = 1; port <= N_PORTS; port++) {
		bool is_open, is_eager;

		open += s->open[port];
		eager += s->eager[port];
		is_open = port < N_PORTS && open > 0;
		is_eager = is_open && eager > 0;
		if (port < N_PORTS && !is_open)
			is_every = false;
		if (row.first && (!is_open || is_eager != row.is_eager)) {
			buf_add(ports, &row, sizeof(row));
			row.first = 0;
		}
		if (is_open && !row.first) {
			row.first = (uint16_t)port;
			row.is_eager = is_eager;
		}
		row.last = (uint16_t)port;
	}
	return is_every;
}

bool compile_ports(const struct draft *d, struct buf *ports)
{
	_cleanup_free_ struct steps *tcp = calloc(1, sizeof(*tcp));
	_cleanup_free_ struct steps *udp = calloc(1, sizeof(*udp));
	bool is_every;

	if (!tcp || !udp) {
		ports->is_failed = true;
		return false;
	}
	add_rules(tcp, d, false);
	if (d->is_default_allow)
		add_default(tcp);
	is_every = print_rows(tcp, IPPROTO_TCP, ports);
	add_rules(udp, d, true);
	print_rows(udp, IPPROTO_UDP, ports);
	return is_every;
}

void compile_ports_note(struct buf *ranges, const struct pattern *p, const struct draft_rule *rule,
	const struct opens *opens)
{
	static const struct {
		enum opens_protocol opens;
		uint8_t proto;
	} rows[] = {{OPENS_TCP, IPPROTO_TCP}, {OPENS_UDP, IPPROTO_UDP}};

	if (p->kind != PATTERN_RANGE || rule->transport != POLICY_TRANSPORT_KERNEL)
		return;
	for (size_t i = 0; i < 2; i++) {
		struct opens_ports ports = opens->ports[rows[i].opens];
		struct policy_range range = {
			.proto = rows[i].proto,
			.first = ports.first,
			.last = ports.last,
			.prefix = p->prefix,
			.rule = p->rule,
		};

		if (ports.first)
			buf_add(ranges, &range, sizeof(range));
	}
}
