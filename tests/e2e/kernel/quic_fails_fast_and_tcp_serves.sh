#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# UDP 443 is refused with an errno, so that a client falls back in no time.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
within 3000 inside bash -c "$CLIENT udp $OK4 443 20; curl -sS --max-time 5 --cacert $CA \
	https://api.allowed.test/ || true"
expect 1 '^(EACCES|EPERM)' inside $CLIENT udp "$OK4" 443
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
audit event=network_blocked reason=udp port=443 proto=udp
none_world kind=packet proto=17 port=443
verified
