#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Halted, nothing new begins and what was open ends; resumed, the policy decides as before.
# --all is for all of /run/nej: here one of its own.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m bash "$0"
mkdir -p /run/nej && mount -t tmpfs nej /run/nej
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside bash -c "
	(openssl s_client -connect api.allowed.test:443 -servername api.allowed.test < <(sleep 30) >/dev/null 2>&1; echo cut) &
	for i in \$(seq 100); do
		curl -s --noproxy '*' --max-time 2 -o /dev/null -w '%{http_code}\n' http://api.allowed.test/
		sleep 0.1
	done" >"$E2E/out" 2>&1 &
run=$!
eventually grep -q 200 "$E2E/out"
eventually audit event=network_allowed app=tls
expect 0 'halted, [1-9][0-9]* connections? ended' "$NEJ" halt "$NAME"
expect 0 'halted' "$NEJ" status "$NAME"
eventually grep -q cut "$E2E/out"
eventually grep -q 000 "$E2E/out"
eventually audit event=network_blocked reason=halted
before=$(grep -c 200 "$E2E/out")
sleep 0.5
[ "$(grep -c 200 "$E2E/out")" = "$before" ] || fail "something passed while halted"
expect 0 'decides again' "$NEJ" resume --all
eventually bash -c "[ \$(grep -c 200 '$E2E/out') -gt $before ]"
expect 0 'enforcing' "$NEJ" status "$NAME"
audit event=halted
audit event=resumed
pkill -f "seq 100" || true
wait "$run" || true
verified
