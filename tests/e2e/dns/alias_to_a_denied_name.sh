#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Denylist: an alias of a denied name is denied with it, by the stub where it gives real addresses,
# by the dialler where it gives synthetic ones.
. "$(dirname "$0")/../lib.sh"
for mode in resolve synthetic; do
	policy <<<"{version: 1, default: allow, dns: $mode, rules: [deny: .mirror.test]}"
	expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 cdn.mirror.test
	expect ! '' inside curl -sS --max-time 5 -k https://cdn.mirror.test/
	expect ! '' inside curl -sS --max-time 5 -k --noproxy '*' https://innocent.test/
	expect 22 '403' inside curl -sSf --max-time 5 http://innocent.test/
done
audit event=network_blocked host=innocent.test reason=rule
verified
