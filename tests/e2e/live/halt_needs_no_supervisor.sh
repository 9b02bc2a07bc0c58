#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Halted while its supervisor hangs, and after it died: nothing new begins, what was open stands still,
# and the answer comes soon. A supervisor that goes on takes the halt over; resume ends it.
# --all is for all of /run/nej: here one of its own.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m bash "$0"
mkdir -p /run/nej && mount -t tmpfs nej /run/nej
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test, {allow: "93.184.216.38:7", transport: kernel}]}'
target
in_target bash -c "while sleep 0.1; do
	curl -s --noproxy '*' --max-time 1 -o /dev/null -w '%{http_code}\n' http://api.allowed.test/
	$CLIENT tcp 93.184.216.38 7 direct; done" >"$E2E/out" 2>&1 &
eventually grep -q '^direct' "$E2E/out" && to_target
passed() { grep -cE '^(200|direct)' "$E2E/out"; }
works() { local n && n=$(passed) && eventually eval "[ \$(passed) -gt $((n + 2)) ]"; }
is_still() { local n && sleep 1.2 && n=$(passed) && sleep 1 && [ "$(passed)" = "$n" ] || fail "$1: something passes"; }
works || fail "$(tail "$E2E/out")"
supervisor=$(sed -n 's/^pid=//p' "/run/nej/$NAME/state")
kill -STOP "$supervisor"
within 5000 expect 0 'halted in the kernel alone' "$NEJ" halt "$NAME"
is_still hung
within 8000 "$NEJ" halt --all
kill -CONT "$supervisor"
eventually "$NEJ" status "$NAME"
expect 0 '' "$NEJ" halt "$NAME" && is_still halted
expect 0 '' "$NEJ" resume "$NAME"
works || fail "not resumed: $(tail "$E2E/out")"
kill -KILL "$supervisor"
eventually bash -c "! grep -q . /run/nej/$NAME/lock || ! kill -0 $supervisor"
expect 0 'halted in the kernel alone' "$NEJ" halt "$NAME"
is_still dead
let_go
