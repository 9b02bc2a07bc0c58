// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decision functions of bpf/ under the verifier, run by test_decide.c through test runs: plain
 * globals in, plain globals out. A classifier program, because every kernel can test-run one.
 */
#include "../../bpf/decide.bpf.h"

__u8 in_addr[16];
__u32 in_port, in_proto, in_family, in_bound_if, in_hook, in_type, in_protocol;
__u32 out_verdict, out_reason, out_quiet, out_owner, out_remembered, out_rule, out_facts;

SEC("tc")
int run_dest(struct __sk_buff *skb)
{
	const struct nej_settings *s = settings_find();
	struct nej_ask ask = {.hook = in_hook, .bound_if = in_bound_if};
	struct nej_decision d;

	(void)skb;
	__builtin_memcpy(ask.dest.addr, in_addr, 16);
	ask.dest.port_be = bpf_htons(in_port);
	ask.dest.proto = in_proto;
	ask.dest.family = in_family;
	d = decide_dest(s, &ask);
	out_verdict = d.verdict;
	out_reason = d.reason;
	out_quiet = d.is_quiet;
	out_owner = d.needs_owner;
	out_remembered = d.is_remembered;
	out_rule = d.rule;
	out_facts = ask.facts;
	return 0;
}

SEC("tc")
int run_facts(struct __sk_buff *skb)
{
	struct nej_dest d = {};
	struct dest_words *words = dest_words(&d);

	(void)skb;
	__builtin_memcpy(d.addr, in_addr, 16);
	out_facts = dest_facts(words->w[0], words->w[1], words->w[2], words->w[3]);
	return 0;
}

SEC("tc")
int run_socket(struct __sk_buff *skb)
{
	(void)skb;
	out_reason = decide_socket(settings_find(), in_type, in_protocol);
	return 0;
}

SEC("tc")
int run_bind(struct __sk_buff *skb)
{
	(void)skb;
	out_reason = decide_bind(settings_find(), bpf_htons(in_port));
	return 0;
}

char _license[] SEC("license") = "GPL";
