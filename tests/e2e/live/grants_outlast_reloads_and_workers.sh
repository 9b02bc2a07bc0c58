#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A reload and the death of the worker leave grants in force, a halt makes them wait, and none lasts longer
# for any of it; with the supervisor they are gone.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
target
in_target bash -c "while sleep 0.1; do
	curl -s --noproxy '*' --max-time 2 -o /dev/null -w '%{http_code}\n' http://a.pkg.test/; done" >"$E2E/out" 2>&1 &
eventually grep -q 200 "$E2E/out"
to_target
passes() { local n && n=$(grep -c 200 "$E2E/out") || true; eventually bash -c "[ \$(grep -c 200 '$E2E/out') -gt $n ]"; }
is_refused() { eventually bash -c "tail -n 1 '$E2E/out' | grep -qv 200"; }
is_refused
begin=$(date +%s)
expect 0 'grant 1' "$NEJ" grant "$NAME" a.pkg.test --for 9s
passes
expect 0 'generation 2' "$NEJ" reload "$NAME"
passes
kill -KILL "$(pgrep -fx "nej worker $NAME")"
eventually bash -c "'$NEJ' status '$NAME' | grep -q 'worker_restarts: 1'"
passes
expect 0 '' "$NEJ" halt "$NAME"
is_refused
expect 0 'grant 2: b.pkg.test.*is halted: nothing passes' "$NEJ" grant "$NAME" b.pkg.test --for 1h
expect 0 '' "$NEJ" resume "$NAME"
passes
for try in $(seq 100); do tail -n 1 "$E2E/out" | grep -q 200 || break; sleep 0.2; done
[ $(($(date +%s) - begin)) -lt 12 ] || fail "it lasted longer"
is_refused
eventually audit 1 event=grant_ended grant=1 ended_by=expired
expect 0 'grant 2: b.pkg.test' "$NEJ" grant "$NAME" --list
supervisor=$(sed -n 's/^pid=//p' "/run/nej/$NAME/state")
kill -KILL "$supervisor"
eventually bash -c "! kill -0 $supervisor"
to_target
expect 0 'no grant is in force' "$NEJ" grant "$NAME" --list
let_go
verified
