#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Supervisors that hang, with so many waiting at their sockets that no more are let in: status and the
# page for scrapers come soon all the same, with the others in them; a halt is in force.
# alone
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
pids=()
for i in 1 2 3 4; do
	on_host "$NEJ" run -p "$E2E/policy.yaml" -n "$NAME-$i" --audit "$E2E/$i.jsonl" --resolver "$RESOLVER" -- sleep 60 &
	pids+=($!)
	eventually [ -S "/run/nej/$NAME-$i.sock" ]
done
AT_END+=('kill -CONT "${pids[@]}"; kill "${pids[@]}"')
for i in 1 2 3; do
	supervisor=$(sed -n 's/^pid=//p' "/run/nej/$NAME-$i/state")
	pids+=("$supervisor") && kill -STOP "$supervisor"
	/usr/bin/python3 -c '
import socket, sys, time
full = []
while True:
    full.append(socket.socket(socket.AF_UNIX))
    full[-1].setblocking(False)
    try:
        full[-1].connect(sys.argv[1])
    except BlockingIOError:
        break
open(sys.argv[2], "w").close()
time.sleep(60)' "/run/nej/$NAME-$i.sock" "$E2E/full$i" &
	pids+=($!) && wait_for "$E2E/full$i"
done
status() { timeout 10 "$NEJ" status --json >"$E2E/status"; }
within 4000 status
[ "$(jq -r ".[] | select(.name | startswith(\"$NAME\")) | .state" "$E2E/status" | sort | uniq -c | tr -s ' \n' ' ')" = ' 1 enforcing 3 starting ' ] || fail "$(cat "$E2E/status")"
on_host "$NEJ" status --metrics-listen 127.0.0.1:9471 2>"$E2E/exporter" &
pids+=($!) && sleep 0.3
page() { on_host curl -sS --noproxy '*' --max-time 4 http://127.0.0.1:9471/metrics >"$E2E/page"; }
within 4000 page
grep -q "nej_state{sandbox=\"$NAME-4\",state=\"enforcing\"} 1" "$E2E/page" || fail "$(cat "$E2E/page")"
within 4500 expect 0 'halted in the kernel alone' timeout 10 "$NEJ" halt "$NAME-1"
