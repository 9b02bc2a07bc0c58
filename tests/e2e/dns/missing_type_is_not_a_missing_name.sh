#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# musl asks both families at once: NXDOMAIN for one would kill both. In synthetic both exist.
. "$(dirname "$0")/../lib.sh"
for mode in synthetic resolve; do
	policy <<<"{version: 1, dns: $mode, rules: [allow: v4.allowed.test]}"
	expect 0 'status: NOERROR' inside dig @8.8.8.8 v4.allowed.test AAAA
	expect 0 'status: NOERROR' inside dig @8.8.8.8 v4.allowed.test A
	expect 0 'hello from v4' inside "$E2E_SHARED/bin/fetch" v4.allowed.test 80
	[ ! -x "$E2E_SHARED/bin/fetch-musl" ] ||
		expect 0 'hello from v4' inside "$E2E_SHARED/bin/fetch-musl" v4.allowed.test 80
done
none_audit event=network_blocked
verified
