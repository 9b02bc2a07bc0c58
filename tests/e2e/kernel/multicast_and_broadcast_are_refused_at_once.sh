#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Discovery must fail, not hang.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for address in 224.0.0.251 239.1.1.1 255.255.255.255 ff02::fb ff0e::1; do
	expect 1 '^(EACCES|EPERM|ENETUNREACH)' inside $CLIENT udp "$address" 5353
done
audit event=network_blocked reason=multicast addr=239.1.1.1 proto=udp
none_world kind=canary
within 2500 inside $CLIENT udp 239.1.1.1 5353
verified
