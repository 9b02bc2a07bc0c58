#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sockets past the proxy at a reload: what both policies allow goes on and can be made anew by the answer
# a client has, what the new one forbids ends; a halt ends all; so too for what was there at an attach.
. "$(dirname "$0")/../lib.sh"
RUN=(--net=host)
policy <<<'{version: 1, rules: [{allow: ["tcp://db.test:7", "tcp://gh.test:7"], transport: kernel}]}'
echo '{version: 1, rules: [{allow: "tcp://db.test:7", transport: kernel}]}' >"$E2E/second.yaml"
DB=93.184.216.38 GH=93.184.216.36
heard() { grep -c "\"dst\": \"$1\", \"port\": 7" "$E2E/world.log"; }
goes_on() { local n && n=$(heard "$1") && eventually eval "[ \$(heard $1) -gt $n ]" || fail "$1 has stopped"; }
is_silent() { local n && sleep 0.2 && n=$(heard "$1") && sleep 0.5 && [ "$(heard "$1")" = "$n" ] || fail "$1 still sends"; }
inside bash -c "getent ahostsv4 db.test gh.test; getent ahostsv4 gh.test
	$CLIENT keep tcp $DB 7 \$HOME/db & $CLIENT keep tcp $GH 7 \$HOME/gh
	$CLIENT tcp $GH 7 again; $CLIENT tcp $DB 7 anew; wait; echo end of db
	while ! $CLIENT tcp $DB 7 resumed; do sleep 0.2; done" >"$E2E/out" 2>&1 &
run=$!
eventually heard $DB && eventually heard $GH
expect 0 'generation 2' "$NEJ" reload "$NAME" -p "$E2E/second.yaml"
is_silent $GH && goes_on $DB
if has sock_destroy; then
	eventually grep -q '^anew' "$E2E/out" && grep -qE '^E' "$E2E/out" || fail "$(cat "$E2E/out")"
	audit event=network_blocked layer=supervisor addr=$GH port=7 'detail=~new policy'
fi
expect 0 'generation 3' "$NEJ" reload "$NAME" && goes_on $DB
expect 0 halted "$NEJ" halt "$NAME" && is_silent $DB
expect 0 '' "$NEJ" resume "$NAME"
eventually grep -q '^resumed' "$E2E/out"
wait $run && verified
target
policy <<<'{version: 1, rules: [allow: "151.101.64.0/24:7"]}'
in_target $CLIENT keep tcp "$PKG4" 7 "$E2E/before" &
eventually grep -q got "$E2E/before"
to_target && goes_on "$PKG4"
expect 0 '' "$NEJ" reload "$NAME" && goes_on "$PKG4"
expect 0 '' "$NEJ" reload "$NAME" -p "$E2E/second.yaml" && is_silent "$PKG4"
let_go
