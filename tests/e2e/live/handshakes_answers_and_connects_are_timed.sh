#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Histograms of what the worker does, on both sides of TLS, as they happen; bytes of a connection that
# is still open; the next worker goes on counting where a killed one was.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://api.allowed.test/**", allow: "GET https://expired.bad.test/", allow: "tcp://db.test:7"]}'
inside bash -c '
	curl -s --noproxy "*" -o /dev/null https://api.allowed.test/
	curl -s --noproxy "*" -o /dev/null --cacert /etc/hostname https://api.allowed.test/
	curl -s --noproxy "*" -o /dev/null https://expired.bad.test/
	getent hosts denied.evil.test
	exec 3<>/dev/tcp/db.test/7; echo a word that is long enough >&3; head -n 1 <&3
	while sleep 0.5; do curl -s --noproxy "*" --max-time 2 -o /dev/null https://api.allowed.test/; done' >"$E2E/out" 2>&1 &
run=$!
eventually grep -q word "$E2E/out"
page() { "$NEJ" status "$NAME" --metrics; }
value() { page | sed -n "s/^$1{sandbox=\"$NAME\"${2:+,$2}} //p"; }
expect_value() { eventually eval "[ \"\$(value $1 '$2')\" $3 ]" || fail "$1 $2 is $(value "$1" "$2"), not $3"; }
H=nej_tls_handshake_duration_seconds_count
expect_value $H 'side="client",outcome="done"' '-ge 1'
expect_value $H 'side="client",outcome="failed"' '-ge 1'
expect_value $H 'side="origin",outcome="done"' '-ge 1'
expect_value $H 'side="origin",outcome="failed"' '-ge 1'
expect_value nej_dns_answer_duration_seconds_count 'rcode="noerror"' '-ge 3'
expect_value nej_dns_answer_duration_seconds_count 'rcode="nxdomain"' '-ge 1'
expect_value nej_connect_duration_seconds_count 'outcome="connected"' '-ge 3'
expect_value nej_connections_total '' '-ge 4'
expect_value nej_bytes_total 'direction="out"' '-ge 28'
before=$(value $H 'side="origin",outcome="done"')
pkill -KILL -f "nej worker $NAME"
expect_value nej_worker_restarts_total '' '-eq 1'
expect_value $H 'side="origin",outcome="done"' "-gt $before"
kill "$("$NEJ" status "$NAME" --json | jq '.[0].pid')"
wait "$run" || true
verified
