#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A new policy decides the next request and ends what it forbids; a broken one changes nothing.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, a.pkg.test]]}'
echo '{version: 1, rules: [{allow: api.allowed.test, note: second}]}' >"$E2E/second.yaml"
echo '{version: 1, rulez: []}' >"$E2E/broken.yaml"
inside bash -c "
	(openssl s_client -connect a.pkg.test:443 -servername a.pkg.test < <(sleep 30) >/dev/null 2>&1; touch \$HOME/cut) &
	(openssl s_client -connect api.allowed.test:443 -servername api.allowed.test < <(sleep 30) >/dev/null 2>&1; touch \$HOME/lost) &
	for i in \$(seq 200); do
		curl -s --max-time 2 -o /dev/null -w '%{http_code}\n' http://api.allowed.test/
		curl -s --max-time 2 -o /dev/null -w 'pkg %{http_code}\n' http://a.pkg.test/
		[ ! -e \$HOME/cut ] || echo cut; [ ! -e \$HOME/lost ] || echo lost
		sleep 0.05
	done" >"$E2E/out" 2>&1 &
run=$!
eventually grep -q 'pkg 200' "$E2E/out"
eventually audit 2 event=network_allowed app=tls
expect 1 'broken.yaml:1:14: error: unknown key .rulez.' "$NEJ" reload "$NAME" -p "$E2E/broken.yaml"
expect 0 'generation 2.*1 connection ended' "$NEJ" reload "$NAME" -p "$E2E/second.yaml"
eventually grep -q cut "$E2E/out"
eventually grep -q 'pkg 403' "$E2E/out"
audit event=network_blocked app=tls host=a.pkg.test 'detail=~policy that came into force'
audit event=policy_loaded generation=2
expect 0 'second' "$NEJ" status "$NAME" --json
expect 0 'generation 3' "$NEJ" reload "$NAME" -p "$E2E/policy.yaml"
eventually bash -c "tail -n 3 '$E2E/out' | grep -q 'pkg 200'"
! grep -qvx '200\|pkg ...\|cut' "$E2E/out" || fail "$(sort "$E2E/out" | uniq -c)"
pkill -f "seq 200" || true
wait "$run" || true
verified
