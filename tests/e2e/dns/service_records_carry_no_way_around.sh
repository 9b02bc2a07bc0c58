#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# HTTPS records: no address hints, no keys for an encrypted hello, no foreign target that opens.
. "$(dirname "$0")/../lib.sh"
for mode in synthetic resolve; do
	policy <<<"{version: 1, dns: $mode, rules: [allow: api.allowed.test]}"
	expect 0 'status: NOERROR' inside dig @8.8.8.8 api.allowed.test HTTPS
	output=$(inside dig @8.8.8.8 api.allowed.test HTTPS)
	! grep -qE 'hint|ech=|\\# .*echkey|45\.33\.32' <<<"$output" || fail "$output"
	expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 evil.test HTTPS
	expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 alt.evil.test A
done
none_world kind=dns "name=~evil"
none_audit event=network_blocked
verified
