#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whatever resolver is asked, the stub answers, and the answer comes from the asked address.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for server in 8.8.8.8 127.0.0.53 127.0.0.11 10.1.2.3 2001:4860:4860::8888 ::1; do
	expect 0 'status: NOERROR.*198\.1[89]\..*SERVER: '"${server//./\\.}"'#53' \
		inside dig "@$server" api.allowed.test
	expect 0 'status: NXDOMAIN' inside dig "@$server" evil.test
	expect 0 'status: NOERROR' inside dig +tcp "@$server" api.allowed.test
done
none_world kind=dns
none_world kind=packet port=53
verified
