#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# After the end: no pins, no cgroup, no process, no change of the host's rules or addresses.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
state() {
	on_host ip -br addr
	on_host ip rule
	on_host ip route
	find /sys/fs/bpf/nej /run/nej -name "*$NAME*" 2>/dev/null || true
	find /sys/fs/cgroup -path "*nej*$NAME*" 2>/dev/null || true
}
before=$(state)
expect 0 hello inside curl -sS --max-time 5 http://api.allowed.test/
inside bash -c 'sleep 60 & disown; exit 0'
[ "$before" = "$(state)" ] || fail "$(diff <(echo "$before") <(state))"
! pgrep -f "audit $AUDIT" >/dev/null || fail "a process stays"
