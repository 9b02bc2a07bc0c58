#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# When `nej attach --background` returns, the sandbox answers: status, halt and detach at once, again and
# again.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for round in $(seq 12); do
	to_target
	case $((round % 3)) in
	0) expect 0 'halted, 0 connections ended' "$NEJ" halt "$NAME" ;;
	1) expect 0 '"state": "enforcing"' "$NEJ" status "$NAME" --json ;;
	esac
	within 3000 let_go
	[ ! -e "/run/nej/$NAME" ] || fail "round $round: it runs still"
done
verified
