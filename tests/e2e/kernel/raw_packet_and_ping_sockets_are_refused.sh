#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whoever runs inside; root does not.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for user in nobody daemon; do
	RUN=(-u "$user")
	expect 1 '^(EPERM|EACCES)' inside $CLIENT make AF_INET SOCK_RAW 1
	expect 1 '^(EPERM|EACCES)' inside $CLIENT make AF_INET SOCK_RAW 255
	expect 1 '^(EPERM|EACCES)' inside $CLIENT make AF_INET6 SOCK_RAW 58
	expect 1 '^(EPERM|EACCES|EAFNOSUPPORT)' inside $CLIENT make AF_PACKET SOCK_RAW 3
	expect 1 '^(EPERM|EACCES|EAFNOSUPPORT)' inside $CLIENT make AF_PACKET SOCK_DGRAM 2048
	expect 1 '^(EPERM|EACCES|EPROTONOSUPPORT)' inside $CLIENT ping "$EVIL4"
done
audit event=network_blocked reason=socket-type
evil_saw_nothing
verified
