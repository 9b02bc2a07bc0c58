#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# TLS without SNI to a bare address: refused at once, unless the address is granted.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test, allow: "151.101.64.223/32"]}'
for address in "$EVIL4" "$OK4" "$EVIL6"; do
	within 2500 inside $CLIENT tls "$address" 443 ''
	expect 1 '.' inside $CLIENT tls "$address" 443 ''
	audit event=network_blocked "addr=$address" port=443
done
expect 0 hello inside $CLIENT tls "$PKG4" 443 ''
evil_saw_nothing
verified
