#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# One JSON object a line, from root; nobody else, and nothing inside, reaches it.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
inside bash -c "ls /run/nej/$NAME.sock /run/nej/*.sock 2>&1; sleep 4" >"$E2E/out" 2>&1 &
run=$!
wait_for "/run/nej/$NAME.sock"
[ "$(stat -c '%U %a' "/run/nej/$NAME.sock")" = 'root 600' ] || fail "$(stat "/run/nej/$NAME.sock")"
ask() { # LINE...: each answered by a line
	printf '%s\n' "$@" | timeout 5 /usr/bin/python3 -c "
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect('/run/nej/$NAME.sock')
f = s.makefile('rw')
for line in sys.stdin:
    f.write(line); f.flush(); print(f.readline(), end='')"
}
expect 0 '"ok":true.*"state":"enforcing"' ask '{"command":"status"}'
expect 0 '"ok":false' ask 'nonsense'
expect 0 '"ok":false' ask '{"command":"status","command":"halt"}'
expect 0 'is status, reload, halt, resume, grant, revoke, detach or canary' ask '{"command":"dance"}'
expect 0 'false.*true' ask '[]' '{"command":"status"}'
expect ! . setpriv --reuid 65534 --clear-groups /usr/bin/python3 -c "
import socket; socket.socket(socket.AF_UNIX).connect('/run/nej/$NAME.sock')"
expect 1 'no sandbox named nobody' "$NEJ" halt nobody
expect 2 'missing' "$NEJ" halt
eventually grep -q 'No such file' "$E2E/out"
! grep -q "^/run/nej" "$E2E/out" || fail "$(cat "$E2E/out")"
wait "$run" || true
[ ! -e "/run/nej/$NAME.sock" ] || fail "the socket stays"
verified
