#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A grant opens one target until its time is up: then requests are refused and its tunnels end.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [{deny: .pkg.test}, {allow: api.allowed.test}]}'
inside bash -c "
	(until getent hosts a.pkg.test; do sleep 0.1; done
	openssl s_client -connect a.pkg.test:443 -servername a.pkg.test < <(sleep 30); touch \$HOME/cut) >/dev/null 2>&1 &
	for i in \$(seq 300); do
		curl -s --max-time 2 -o /dev/null -w 'pkg %{http_code}\n' http://a.pkg.test/
		curl -s --max-time 2 -o /dev/null -w 'other %{http_code}\n' http://b.pkg.test/
		curl -s --max-time 2 -o /dev/null -w 'api %{http_code}\n' http://api.allowed.test/
		[ ! -e \$HOME/cut ] || echo cut
		sleep 0.05
	done" >"$E2E/out" 2>&1 &
run=$!
eventually grep -q 'pkg 403' "$E2E/out"
expect 0 "$NAME: grant 1: a.pkg.test, for 4s" "$NEJ" grant "$NAME" a.pkg.test --for 4s --note 'för the release'
eventually grep -q 'pkg 200' "$E2E/out"
eventually audit event=network_allowed app=tls host=a.pkg.test 'rule.text=grant 1: a.pkg.test'
expect 0 'generation 1.*grant 1: a.pkg.test, [1-4]s left, by uid [0-9]+  # f.u{f6}r the release' "$NEJ" status "$NAME"
expect 0 '"remaining_s": [1-4],' "$NEJ" status "$NAME" --json
expect 0 'nej_grants\{sandbox="e2e-[a-zA-Z0-9]+"\} 1' "$NEJ" status "$NAME" --metrics
eventually grep -q cut "$E2E/out"
eventually bash -c "tail -n 4 '$E2E/out' | grep -q 'pkg 403'"
expect 0 'no grant is in force' "$NEJ" grant "$NAME" --list
audit 1 event=grant_added grant=1 target=a.pkg.test seconds=4 transport=direct 'note=för the release'
audit 1 event=grant_ended grant=1 ended_by=expired
audit event=network_blocked app=tls host=a.pkg.test 'detail=~policy that came into force'
! grep -q 'other 200\|api [^2]' "$E2E/out" || fail "$(sort "$E2E/out" | uniq -c)"
[ "$(grep pkg "$E2E/out" | uniq | tr '\n' ' ')" = 'pkg 403 pkg 200 pkg 403 ' ] || fail "$(uniq -c "$E2E/out")"
pkill -f "seq 300" || true
wait "$run" || true
verified
