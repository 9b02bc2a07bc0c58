#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A hook is taken away from outside: the next canary finds it, and nothing passes any more.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
broken() { # LINK FINDING: a sandbox without that hook
	rm -f "$AUDIT"*
	inside bash -c "
		(openssl s_client -connect api.allowed.test:443 -servername api.allowed.test \
			< <(sleep 20) >/dev/null 2>&1; echo cut) &
		sleep 20 & wait" >"$E2E/out" 2>&1 &
	local run=$!
	eventually audit event=network_allowed app=tls
	expect 0 'refused everywhere' "$NEJ" status "$NAME" --canary
	bpftool link detach pinned "/sys/fs/bpf/nej/$NAME/links/$1"
	expect 0 "$NAME +broken.*$2" "$NEJ" status "$NAME" --canary
	eventually grep -q cut "$E2E/out"
	audit 1 event=canary_failed "detail=~$2"
	audit 1 event=halted
	expect 0 "nej_canary_ok\{sandbox=\"$NAME\"\} 0" "$NEJ" status "$NAME" --metrics
	kill "$("$NEJ" status "$NAME" --json | grep -oP '"pid": \K\d+')"
	wait "$run" || true
	verified
}
broken nej_sock_create 'a raw socket was not refused'
broken nej_connect4 'a connect to a link-local IPv4 address was not refused'
broken nej_sendmsg6 'a datagram to a link-local IPv6 address was not refused'
broken nej_egress 'a hook is not attached any more'
