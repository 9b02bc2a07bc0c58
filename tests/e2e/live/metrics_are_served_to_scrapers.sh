#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --metrics-listen: what --metrics prints, to whoever asks for that page alone; slow, silent and odd
# clients hold nobody up; it ends when told to.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside bash -c 'curl -s -o /dev/null http://api.allowed.test/; sleep 30' >"$E2E/out" 2>&1 &
run=$!
eventually audit event=network_allowed
on_host "$NEJ" status --metrics-listen 127.0.0.1:9469 >"$E2E/exporter" 2>&1 &
sleep 0.3
get() { on_host curl -sS --noproxy '*' --max-time 5 "$@"; }
expect 0 "nej_state\{sandbox=\"$NAME\",state=\"enforcing\"\} 1" get http://127.0.0.1:9469/metrics
expect 0 'nej_attempt_duration_seconds_bucket.*le="\+Inf"' get 'http://127.0.0.1:9469/metrics?collect=all'
expect 0 'version=0.0.4' get -o /dev/null -w '%{content_type}' http://127.0.0.1:9469/metrics
for odd in "404 http://127.0.0.1:9469/" "404 http://127.0.0.1:9469/metricsx" "405 -X POST http://127.0.0.1:9469/metrics"; do
	expect 0 "${odd%% *}" get -o /dev/null -w '%{http_code}' ${odd#* }
done
for i in $(seq 40); do
	on_host bash -c 'exec 3<>/dev/tcp/127.0.0.1/9469; printf "GET /met" >&3; sleep 20' &
done
sleep 0.5
within 3000 expect 0 "nej_state" get http://127.0.0.1:9469/metrics
expect 0 '400|^$' on_host bash -c 'exec 3<>/dev/tcp/127.0.0.1/9469; printf "GET /metrics\r\n\r\n" >&3; cat <&3'
on_host bash -c 'exec 3<>/dev/tcp/127.0.0.1/9469; head -c 100000 /dev/zero | tr "\0" x >&3; cat <&3' >/dev/null 2>&1 || true
kill "$("$NEJ" status "$NAME" --json | grep -oP '"pid": \K\d+')" && wait $run || true
eventually bash -c "! nsenter --net=/run/netns/$HOST_NS curl -s --max-time 5 http://127.0.0.1:9469/metrics | grep -q 'sandbox=\"$NAME\"'"
expect 2 'no IP' "$NEJ" status --metrics-listen localhost
expect 1 'cannot listen on 127.0.0.1:9469: Address already in use' on_host "$NEJ" status --metrics-listen 127.0.0.1
pkill -TERM -f 'status --metrics-listen 127.0.0.1:9469' && eventually bash -c "! pgrep -f 'status --metrics-listen 127.0.0.1:946[9]'"
verified
