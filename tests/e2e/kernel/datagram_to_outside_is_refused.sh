#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A datagram from a socket that never connects is seen by no connect hook.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for address in "$EVIL4" "$EVIL6" "::ffff:$EVIL4" "$OK4"; do
	for port in 443 9999; do
		expect 1 '^(EACCES|EPERM)' inside $CLIENT udp "$address" "$port"
	done
done
audit 2 event=network_blocked proto=udp reason=udp "addr=$EVIL6"
audit event=network_blocked proto=udp reason=udp "addr=$EVIL4" port=9999 comm=python3 layer=kernel
audit event=network_blocked "addr=$OK4" port=443 proto=udp
none_world kind=packet proto=17 port=443
evil_saw_nothing
verified
