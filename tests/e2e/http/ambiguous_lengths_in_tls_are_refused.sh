#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two readings of where a request ends, inside TLS: 400, close, nothing upstream.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
cat >"$E2E/each.sh" <<-'EOF'
	head='POST /upload HTTP/1.1\r\nHost: gh.test\r\n'
	for lines in "$@"; do
	    echo "$lines: $($INTLS http1 gh.test "$head$lines\r\n\r\nhello" | head -n 1)"
	done
EOF
cases=('Content-Length: 34\r\nContent-Length: 0' 'Content-Length: 5, 6' 'Content-Length: +5' 'Content-Length: 0x5'
	'Content-Length: 99999999999999999999' 'Content-Length: -1' 'Transfer-Encoding: chunked\r\nContent-Length: 5'
	'Content-Length: 5\r\nTransfer-Encoding: chunked' 'Transfer-Encoding: xchunked'
	'Transfer-Encoding: chunked, identity' 'Transfer-Encoding : chunked' 'X\x00: a' 'X: a\r\n folded'
	'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked')
output=$(inside bash "$E2E/each.sh" "${cases[@]}")
[ "$(grep -c ': HTTP/1.1 400' <<<"$output")" = ${#cases[@]} ] || fail "$output"
audit event=network_blocked reason=framing status=400 host=gh.test
none_world kind=http
expect 0 '^HTTP/1.1 200' inside $INTLS http1 gh.test 'POST /upload HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n'\
'Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n'
world 1 kind=http path=/upload body=abc
verified
