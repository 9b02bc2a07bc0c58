#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Protocols whose connect no hook sees, and those that need none.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "*:443", allow: "tcp://*:7"]}'
expect 1 '^(EPROTONOSUPPORT|EPERM|EACCES)' inside $CLIENT udplite "$EVIL4" 9
expect 1 '^(EPROTONOSUPPORT|EPERM|EACCES)' inside $CLIENT udplite "$EVIL6" 9
expect 1 '^(EPROTONOSUPPORT|ENOPROTOOPT|EPERM|EACCES)' inside $CLIENT mptcp "$EVIL4" 443
for protocol in 33 132 136 262; do
	for kind in SOCK_STREAM SOCK_DGRAM SOCK_SEQPACKET; do
		expect 1 '^(EPROTONOSUPPORT|ESOCKTNOSUPPORT|EPROTOTYPE|EPERM|EACCES)' \
			inside $CLIENT make AF_INET "$kind" "$protocol"
	done
done
audit event=network_blocked reason=socket-type
evil_saw_nothing
verified
