#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Brackets, controls, encoded delimiters, user info, non-ASCII: 400, and no lookup.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, default: allow, rules: [deny: .mirror.test]}'
for host in '[mirror.test]' '[[mirror.test]]' '[api.allowed.test]' 'evil.test\x00.pkg.test' \
	'evil.test%23.pkg.test' 'evil.test%2f.pkg.test' 'evil.test%3f.pkg.test' 'a..b.test' \
	'm\xc3\xafrror.test' 'mirror.test\xe3\x80\x82' 'user@mirror.test' 'mirror.test..' 'a b.test' \
	'[fe80::1%25eth0]' 'evil.test\x7f'; do
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes 127.0.0.1 3128 \
		"CONNECT $host:443 HTTP/1.1\r\nHost: $host:443\r\n\r\n"
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes 127.0.0.1 3128 \
		"GET http://$host/ HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n"
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes "$EVIL4" 80 \
		"GET / HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n"
done
audit event=network_blocked reason=malformed-host
none_world kind=dns
none_world kind=http
none_world kind=packet proto=6
verified
