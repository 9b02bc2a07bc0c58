#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A worker that is killed is replaced and knows every sandbox again; it is confined. SIGTERM: no more
# clients, who is being served is served to the end, the log is closed.
. "$(dirname "$0")/../lib.sh"
tenant box <<<'{rules: [allow: api.allowed.test]}'
gateway
is() {
	[ "$(at_gateway box -o /dev/null -w '%{http_code}' http://api.allowed.test/ 2>&1)" = "$1" ]
}
is 200 || fail "not served"
old=$(pgrep -P "$GATEWAY")
grep -q 'CapEff:.*0000000000000000' "/proc/$old/status" || fail "the worker has capabilities"
grep -q 'NoNewPrivs:.*1' "/proc/$old/status" && grep -q 'Seccomp:.*2' "/proc/$old/status" ||
	fail "the worker is not confined"
kill -KILL "$old"
eventually is 200
gate event=worker_restarted
at_gateway box -p -o "$E2E/got" 'http://api.allowed.test/sse?n=12&ms=200' &
transfer=$!
sleep 0.5
kill -TERM "$GATEWAY"
eventually eval '! on_host bash -c "</dev/tcp/172.30.0.2/3140" 2>/dev/null'
wait $transfer || fail "the transfer was cut"
[ "$(grep -c data: "$E2E/got")" = 12 ] || fail "the transfer is cut short"
wait "$GATEWAY" || fail "exit status $?"
gate event=sandbox_finished sandbox=+gateway
AUDIT=$E2E/gateway.jsonl verified
