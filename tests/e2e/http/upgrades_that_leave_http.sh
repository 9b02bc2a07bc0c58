#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# h2c and TLS upgrades would end the judging of requests; 101 that nobody asked for too.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "GET http://gh.test/**"]}'
for token in h2c TLS/1.0 'websocket, h2c'; do
	inside $CLIENT bytes "$EVIL4" 80 "GET /headers HTTP/1.1\r\nHost: gh.test\r\nUpgrade: $token\r\n\
Connection: Upgrade, HTTP2-Settings, close\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" >"$E2E/out" || true
	! grep -q '^HTTP/1.1 101' "$E2E/out" || fail "$token was switched: $(cat "$E2E/out")"
done
none_world kind=http "headers.upgrade=~h2c|TLS"
expect 0 '^HTTP/1.1 502' inside $CLIENT bytes "$EVIL4" 80 'GET /switch HTTP/1.1\r\nHost: gh.test\r\n\r\n'
verified
