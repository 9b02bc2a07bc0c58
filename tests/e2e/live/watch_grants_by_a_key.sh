#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An operator sees what is denied and grants it by a key, after reading what that would open; pasted text is
# no answer, and what programs call themselves no command for the terminal.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [{deny: .pkg.test, note: ask}, {allow: api.allowed.test}]}'
inside bash -c 'cp /usr/bin/curl $HOME/$'"'\e[2J\e]0;x'"'; while sleep 0.1; do
	curl -s --max-time 2 -o /dev/null -w "pkg %{http_code}\n" -X POST "http://a.pkg.test/up/load?key=1"
	curl -s --max-time 2 -o /dev/null -w "get %{http_code}\n" http://a.pkg.test/up/load
	$HOME/*J* -s --max-time 2 http://evil.test/; done' >"$E2E/out" 2>&1 &
run=$! && eventually grep -q 'pkg 403' "$E2E/out"
last() { for _ in {1..99}; do grep "^$1 " "$E2E/out" | tail -n 1 | grep -q "$2" && return; sleep 0.1; done; false; }
export -f last
"$(dirname "$0")/../clients/screen.py" 110x20 "$NEJ" watch "$NAME" <<EOF || fail "see above"
see enforcing.*a.pkg.test:80 POST /up/load +line 1: deny: .pkg.test.*curl\[
see evil.test:80 GET / +no-rule .*\\\\x1b\[2J
press <end>g
see Grant  POST http://a.pkg.test/up/load  for 10m_.*Tab: http://a.pkg.test
press <paste>
press 3s<enter>
see grant 1 +[23]s +POST http://a.pkg.test/up/load  by uid
run last pkg 200
run last get 403
gone grant 1
run last pkg 403
see a.pkg.test:80 POST /up/load
press <home>g<esc><end>g<enter><tab>
see Grant  (http://)?a.pkg.test(:80)?  for 10m_
press <bs><enter>
see how long: 30s
press <bs><bs>1h<enter>
see grant 2 +(1h|59m)
run last get 200
press <home>r
run last get 403
press q
ends 0
EOF
audit 1 event=grant_ended grant=1 ended_by=expired && audit 2 event=grant_added && none_audit event=grant_added 'target=~evil'
kill "$(sed -n 's/^pid=//p' "/run/nej/$NAME/state")" && wait $run || true
