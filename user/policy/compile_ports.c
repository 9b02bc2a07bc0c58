/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports and ranges for the kernel side; see compile_ports.h. */
#include "compile_ports.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "policy.h"

#define N_PORTS 65536

/* From this port on, so many more (or fewer) targets open it. */
struct step {
	uint32_t port;
	int32_t open, eager;
};

static void add_step(struct buf *steps, struct opens_ports p, bool is_eager)
{
	struct step begin = {p.first, 1, is_eager}, end = {p.last + 1u, -1, -is_eager};

	if (!p.first)
		return;
	buf_add(steps, &begin, sizeof(begin));
	buf_add(steps, &end, sizeof(end));
}

/* All protocols of TCP, or UDP. */
static void add_opens(struct buf *steps, const struct opens *o, bool is_udp, bool is_eager)
{
	for (int i = 0; i < OPENS_COUNT; i++)
		if ((i == OPENS_UDP) == is_udp)
			add_step(steps, o->ports[i], is_eager);
}

static void add_default(struct buf *steps)
{
	static const struct {
		struct opens_ports ports;
		bool is_eager;
	} rows[] = {
		{{1, 79}, true},
		{{80, 80}, false},
		{{81, 442}, true},
		{{443, 443}, false},
		{{444, 65535}, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add_step(steps, rows[i].ports, rows[i].is_eager);
}

static void add_rules(struct buf *steps, const struct draft *d, bool is_udp)
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
			add_opens(steps, &opens[k], is_udp, is_eager);
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->port < y->port ? -1 : x->port > y->port;
}

static void end_row(struct policy_port *row, uint32_t end, struct buf *ports)
{
	if (!row->first)
		return;
	row->last = (uint16_t)(end - 1);
	buf_add(ports, row, sizeof(*row));
	row->first = 0;
}

/* Rows of equal state; true when every port is open. */
static bool print_rows(struct buf *steps, uint8_t proto, struct buf *ports)
{
	struct policy_port row = {.proto = proto};
	struct step *all = (struct step *)(void *)steps->data;
	size_t n = DRAFT_COUNT(*steps, struct step);
	int64_t open = 0, eager = 0;
	uint32_t closed_at = 1; /* the first port seen closed */

	if (n)
		qsort(all, n, sizeof(*all), compare_steps);
	for (size_t i = 0; i < n;) {
		uint32_t port = all[i].port;

		for (; i < n && all[i].port == port; i++) {
			open += all[i].open;
			eager += all[i].eager;
		}
		if (row.first && open > 0 && row.is_eager == (eager > 0))
			continue;
		end_row(&row, port, ports);
		if (open > 0) {
			row.first = (uint16_t)port;
			row.is_eager = eager > 0;
		}
		if (open > 0 && closed_at == port)
			closed_at = N_PORTS;
		else if (open <= 0 && closed_at == N_PORTS)
			closed_at = port;
	}
	return n && closed_at == N_PORTS;
}

bool compile_ports(const struct draft *d, struct buf *ports)
{
	struct buf tcp, udp;
	bool is_every;

	buf_init(&tcp);
	buf_init(&udp);
	add_rules(&tcp, d, false);
	if (d->is_default_allow)
		add_default(&tcp);
	add_rules(&udp, d, true);
	is_every = print_rows(&tcp, IPPROTO_TCP, ports);
	print_rows(&udp, IPPROTO_UDP, ports);
	ports->is_failed |= tcp.is_failed || udp.is_failed;
	buf_done(&tcp);
	buf_done(&udp);
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
