#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two readings of where a request ends: 400, close, nothing upstream.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
head='POST /upload HTTP/1.1\r\nHost: api.allowed.test\r\n'
n=0
for lines in 'Content-Length: 5\r\nContent-Length: 0' 'Content-Length: 5, 6' 'Content-Length: +5' \
	'Content-Length: 0x5' 'Content-Length: 99999999999999999999' 'Content-Length: -1' \
	'Content-Length: 5\r\nTransfer-Encoding: chunked' 'Transfer-Encoding: xchunked' \
	'Transfer-Encoding: chunked\r\nContent-Length: 5' 'Transfer-Encoding: chunked, identity' \
	'Transfer-Encoding : chunked' 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked' \
	'Content-Length : 5' ' folded: x' 'X: a\r\n folded' 'X\x00: a' 'Content-Length: 5 5'; do
	n=$((n + 1))
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes "$OK4" 80 "$head$lines\r\n\r\nhello"
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes 127.0.0.1 3128 \
		"${head/\/upload/http://api.allowed.test/upload}$lines\r\n\r\nhello"
done
audit event=network_blocked reason=framing status=400
none_world kind=http
verified
