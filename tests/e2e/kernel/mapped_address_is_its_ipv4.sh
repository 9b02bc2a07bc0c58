#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ::ffff:a.b.c.d goes through the IPv6 hooks and must be judged and shown as a.b.c.d.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect ! '' inside $CLIENT tcp "::ffff:$EVIL4" 443
expect 1 '^(EACCES|EPERM)' inside $CLIENT tcp ::ffff:169.254.169.254 80
expect ! '' inside $CLIENT tcp ::ffff:10.0.0.5 80
expect ! '' inside $CLIENT udp ::ffff:10.0.0.5 9999
audit event=network_blocked "addr=$EVIL4" port=443
audit event=network_blocked addr=169.254.169.254 reason=private-address
audit event=network_blocked addr=10.0.0.5 port=80
audit event=network_blocked addr=10.0.0.5 port=9999 proto=udp
none_world kind=packet dst=10.0.0.5
none_world kind=packet dst=169.254.169.254
evil_saw_nothing
verified
