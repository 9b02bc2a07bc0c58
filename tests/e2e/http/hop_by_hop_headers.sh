#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A header named in Connection goes no further; Host and the framing ones must not be named there.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside $CLIENT bytes "$OK4" 80 'GET /headers HTTP/1.1\r\nHost: api.allowed.test\r\nX-Hop: 1\r\n'\
'X-End: 2\r\nConnection: close, X-Hop\r\nProxy-Authorization: Basic eDp5\r\n\r\n' >"$E2E/out"
grep -q '"x-end": "2"' "$E2E/out" || fail "$(cat "$E2E/out")"
! grep -q 'x-hop\|proxy-authorization' "$E2E/out" || fail "$(cat "$E2E/out")"
for name in Host Content-Length Transfer-Encoding; do
	expect 0 '^HTTP/1.1 400' inside $CLIENT bytes "$OK4" 80 \
		"GET /b HTTP/1.1\r\nHost: api.allowed.test\r\nConnection: close, $name\r\n\r\n"
done
none_world kind=http path=/b
verified
