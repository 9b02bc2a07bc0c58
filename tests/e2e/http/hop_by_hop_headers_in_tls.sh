#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A header named in Connection goes no further; Host and the framing ones must not be named there.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
inside $INTLS http1 gh.test 'GET /headers HTTP/1.1\r\nHost: gh.test\r\nX-Hop: 1\r\nX-End: 2\r\nKeep-Alive: 5\r\n'\
'Connection: close, X-Hop\r\nProxy-Authorization: Basic eDp5\r\nProxy-Connection: close\r\n\r\n' >"$E2E/out"
grep -q '"x-end": "2"' "$E2E/out" || fail "$(cat "$E2E/out")"
! grep -q 'x-hop\|proxy-\|keep-alive"' "$E2E/out" || fail "$(cat "$E2E/out")"
for name in Host Content-Length Transfer-Encoding; do
	expect 0 '^HTTP/1.1 400' inside $INTLS http1 gh.test \
		"GET /b HTTP/1.1\r\nHost: gh.test\r\nConnection: close, $name\r\n\r\n"
done
none_world kind=http path=/b
verified
