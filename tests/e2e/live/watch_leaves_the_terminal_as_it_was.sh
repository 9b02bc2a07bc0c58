#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Terminals of any size, Ctrl-Z, Ctrl-C, a halt and the sandbox's end under nej watch; elsewhere it prints lines.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside bash -c 'for i in $(seq 1000); do for j in $(seq 20); do getent hosts h$i-$j.evil.test; done; sleep 0.1; done' & run=$!
eventually "$NEJ" grant "$NAME" api.allowed.test --for 1h
screen() { "$(dirname "$0")/../clients/screen.py" "$@" || fail "see above"; }
"$NEJ" watch "$NAME" </dev/null >"$E2E/lines" & lines=$!
screen 100x24 "$NEJ" watch "$NAME" <<-'EOF'
	see grant 1.*h[0-9]+-[0-9]+.evil.test \(name\)
	press g
	see Grant  h[0-9]+-[0-9]+.evil.test  for 10m_
	size 12x5
	see Esc: the te>
	press <enter>
	size 1x1
	press <home><end>
	size 150x14
	press <esc>jjjk<down><up>ii?
	see enforcing .*2 ignored.*Before something
	signal TSTP
	signal CONT
	press ?hy
	press h
	press y
	see halted
	press <interrupt>
	ends 0
EOF
screen 80x24 "$NEJ" watch "$NAME" <<-EOF
	see evil.test
	run kill $(sed -n 's/^pid=//p' "/run/nej/$NAME/state")
	see ended
	signal TERM
	ends 0
EOF
! wait $run && wait $lines || fail "lines: $?"
grep -q 'DENY .*evil.test' "$E2E/lines" && grep -q HALTED -i "$E2E/lines" || fail "$(tail "$E2E/lines")"
none_audit event=grant_added 'target=~evil'
