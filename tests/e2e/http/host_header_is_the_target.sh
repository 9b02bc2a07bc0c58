#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Absolute form: the target decides and Host is made to agree. Origin form: one valid Host.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
end='\r\nConnection: close\r\n\r\n'
inside $CLIENT bytes 127.0.0.1 3128 "GET http://api.allowed.test/a HTTP/1.1\r\nHost: evil.test$end" || true
none_world kind=http host=evil.test
for lines in '' 'Host:\r\n' 'Host: api.allowed.test\r\nHost: api.allowed.test\r\n' \
	'Host: x@api.allowed.test\r\n' 'Host: api.allowed.test\r\nHost: evil.test\r\n'; do
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes "$OK4" 80 \
		"GET /b HTTP/1.1\r\n${lines}Connection: close\r\n\r\n"
done
expect 0 '^HTTP/1.[01] 4' inside $CLIENT bytes "$OK4" 80 'GET /b HTTP/1.0\r\n\r\n'
none_world kind=http path=/b
verified
