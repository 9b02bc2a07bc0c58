#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Families no BPF hook of a cgroup sees: VSOCK, TIPC, QIPCRTR, Bluetooth, XDP, L2TP, RDS, ALG, CAN.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 '^made' inside $CLIENT make AF_UNIX SOCK_STREAM
expect 0 '^made' inside $CLIENT make AF_INET6 SOCK_STREAM
expect 0 '^made' inside $CLIENT make AF_NETLINK SOCK_RAW 0
for family in 40:1 30:1 42:2 31:3 44:3 38:5 29:3 21:5 9:2 4:2 41:2 24:2; do
	expect 1 '^(EAFNOSUPPORT|EPERM|EACCES)' \
		inside $CLIENT make "${family%:*}" "${family#*:}"
done
audit event=network_blocked reason=family
verified
