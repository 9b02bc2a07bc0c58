#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each stream of one connection is a request: the third of a minute is 429, and so is the second of
# two at once where a rule admits one. The connection goes on.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<-'EOF2'
	version: 1
	rules:
	  - allow: https://h2.test/minute
	    limits: {requests_per_minute: 2}
	  - allow: https://h2.test/slow
	    limits: {connections: 1}
	  - allow: https://h2.test/
EOF2
cat >"$E2E/get" <<-'EOF2'
	url() { echo "-o /dev/null https://h2.test/$1"; }
	curl -sS --http2 -w '%{http_code} %{http_version} %{num_connects} %header{retry-after}.\n' $(for n in 1 2 3 4 5 6; do
		url minute/$n; done) $(url last)
	curl -sS --http2 -Z -w '%{http_code} ' $(url slow?ms=1000) $(url slow?ms=1000)
EOF2
inside bash -c "$(cat "$E2E/get")" >"$E2E/out" 2>&1 || true
[ "$(grep -cE '^200 2 [01] \.' "$E2E/out")" -ge 3 ] || fail "$(cat "$E2E/out")"
[ "$(grep -cE '^429 2 0 [0-9]+\.' "$E2E/out")" -ge 2 ] || fail "$(cat "$E2E/out")"
grep -qE '^(200 429|429 200)' "$E2E/out" || fail "$(cat "$E2E/out")"
audit event=network_blocked reason=limit host=h2.test status=429 "detail=~requests_per_minute"
audit event=network_blocked reason=limit host=h2.test status=429 "detail=~connections"
verified
