#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A grant that the kernel enforces ends on time while the supervisor hangs, and after it died: nothing new
# begins and what was open falls silent.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [{allow: "tcp://151.101.64.223:7", transport: kernel}]}'
DB=93.184.216.38
heard() { grep -c "\"dst\": \"$1\", \"port\": 7" "$E2E/world.log"; }
goes_on() { local n && n=$(heard "$1") && eventually eval "[ \$(heard $1) -gt $n ]" || fail "$1 has stopped"; }
is_silent() { local n && sleep 0.2 && n=$(heard "$DB") && sleep 1 && [ "$(heard "$DB")" = "$n" ] || fail "still sends"; }
target && to_target
in_target $CLIENT keep tcp "$PKG4" 7 "$E2E/rule" &
connects() { in_target $CLIENT tcp "$DB" 7 new; }
expect ! '' connects
expect 1 'would open nothing' "$NEJ" grant "$NAME" tcp://10.1.2.3:7 --for 5s --transport kernel
expect 0 'grant 1' "$NEJ" grant "$NAME" "tcp://$DB:7" --for 4s --transport kernel
expect 0 'new' connects
in_target $CLIENT keep tcp "$DB" 7 "$E2E/open" &
goes_on "$DB"
audit event=network_allowed layer=kernel addr="$DB" "rule.text=grant 1: tcp://$DB:7"
supervisor=$(sed -n 's/^pid=//p' "/run/nej/$NAME/state")
kill -STOP "$supervisor" && sleep 4
is_silent
expect ! '' connects
kill -CONT "$supervisor"
eventually audit event=grant_ended grant=1 ended_by=expired
! has sock_destroy || audit event=network_blocked layer=supervisor addr="$DB" port=7
goes_on "$PKG4"
expect 0 'grant 2' "$NEJ" grant "$NAME" "udp://$DB:9" --for 1h --transport kernel
expect 0 'grant 3' "$NEJ" grant "$NAME" tcp://db.test:7 --for 4s --transport kernel
expect ! '' connects
expect 0 "$DB" in_target getent ahostsv4 db.test
in_target $CLIENT keep tcp "$DB" 7 "$E2E/second" &
goes_on "$DB"
kill -KILL "$supervisor" && sleep 4
is_silent
expect ! '' connects
let_go
