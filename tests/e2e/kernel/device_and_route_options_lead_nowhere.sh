#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Options that choose the device or the first hop: to the host's own network they must not lead.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for net in none host; do
	RUN=(--net="$net")
	expect ! '' inside $CLIENT pktinfo "$EVIL4" 53 eth0
	expect ! '' inside $CLIENT connect "$EVIL4" 443 eth0
	inside $CLIENT routing-header "$EVIL6" 53 "$PKG6" || true
	inside $CLIENT routing-header fe80::1%eth0 53 "$PKG6" || true
done
none_world kind=canary
none_world kind=packet proto=43
none_world kind=packet proto=17 port=53
evil_saw_nothing
verified
