#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A limit that is reached is a 429 which says when to try again; each request counts, kept connection
# or not, in clear or inside TLS. A minute may end meanwhile, so some may pass that are one too many.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<-'EOF2'
	version: 1
	limits: {connections: 3}
	rules:
	  - allow: http://api.allowed.test
	    limits: {requests_per_minute: 2}
	  - allow: https://gh.test/x
	    limits: {requests_per_minute: 2}
	  - allow: https://a.pkg.test/slow
	    limits: {connections: 1}
EOF2
six() { for n in 1 2 3 4 5 6; do echo "$1/$n"; done; }
many() { inside curl -sS --max-time 9 -o /dev/null -w '%{http_code} %header{retry-after} %{num_connects}\n' "$@"; }
# shellcheck disable=SC2046
for url in http://api.allowed.test https://gh.test/x; do
	many $(six $url | sed 's/^/-o \/dev\/null /') >"$E2E/out"
	grep -q '^200  1' "$E2E/out" || fail "$(cat "$E2E/out")"
	[ "$(grep -cE '^429 [1-9][0-9]? 0' "$E2E/out")" -ge 2 ] || fail "$(cat "$E2E/out")"
done
audit event=network_blocked reason=limit host=api.allowed.test status=429 "detail=~requests_per_minute.*rule"
audit event=network_blocked reason=limit host=gh.test status=429 app=tls
# of two at once the second is one too many, for the rule
expect 0 '429.*200' inside sh -c 'curl -sS -o /dev/null -w "%{http_code} " "https://a.pkg.test/slow?ms=1500" &
	sleep 0.7; curl -sS -o /dev/null -w "%{http_code} " https://a.pkg.test/slow; wait'
# of four connections the fourth, for the sandbox
expect 0 '^HTTP/1.1 429.*connections in limits of the sandbox' inside bash -c '
	for n in 4 5 6; do eval "exec $n<>/dev/tcp/127.0.0.1/3128"; printf "GET " >&$n; done
	sleep 0.5; curl -sSi --max-time 3 -x http://127.0.0.1:3128 http://api.allowed.test/'
verified
