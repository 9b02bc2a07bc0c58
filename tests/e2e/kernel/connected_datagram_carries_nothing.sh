#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# connect() on a datagram socket is how libc sorts addresses: refused quietly, but nothing leaves.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 "198\.1[89]\." inside $CLIENT names api.allowed.test
none_audit event=network_blocked
for port in 1 443; do
	expect 1 '^(EACCES|EPERM|EDESTADDRREQ|ENOTCONN)' inside $CLIENT udp-connected "$EVIL4" "$port"
	expect 1 '^(EACCES|EPERM|EDESTADDRREQ|ENOTCONN)' inside $CLIENT udp-connected "$EVIL6" "$port"
done
evil_saw_nothing
verified
