#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# h2c, TLS and odd upgrades are not passed on inside TLS; a 101 nobody asked for is a 502.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://gh.test/**"]}'
for token in h2c TLS/1.0 'websocket, h2c' HTTP/2.0; do
	inside $INTLS http1 gh.test "GET /headers HTTP/1.1\r\nHost: gh.test\r\nUpgrade: $token\r\n\
Connection: Upgrade, HTTP2-Settings, close\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" >"$E2E/out" || true
	! grep -q '^HTTP/1.1 101' "$E2E/out" || fail "$token was switched: $(cat "$E2E/out")"
done
none_world kind=http "headers.upgrade=~h2c|TLS|HTTP"
expect 0 '^HTTP/1.1 502' inside $INTLS http1 gh.test 'GET /switch HTTP/1.1\r\nHost: gh.test\r\n\r\n' until:502
expect 0 '^HTTP/1.1 502' inside $INTLS http1 gh.test 'GET /switch HTTP/1.1\r\nHost: gh.test\r\nUpgrade: websocket\r\n'\
'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n' until:502
verified
