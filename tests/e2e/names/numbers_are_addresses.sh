#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Decimal, hexadecimal, octal and short notations are what the resolver makes of them: an address.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [.pkg.test, "*"]]}'
for host in 2130706433 0x7f000001 0177.0.0.1 127.1 0 0x7f.1 127.0.0.1. 0300.0250.1.1 3232235777 \
	758194332 '[::1]' '[::ffff:10.0.0.5]' 169.254.169.254; do
	expect 0 '^HTTP/1.1 403' inside $CLIENT bytes 127.0.0.1 3128 \
		"CONNECT $host:443 HTTP/1.1\r\nHost: $host:443\r\n\r\n"
	expect 0 '^HTTP/1.1 403' inside $CLIENT bytes "$EVIL4" 80 \
		"GET / HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n"
done
for host in 123.pkg.test 0xff.pkg.test; do
	expect 0 hello inside curl -sS --max-time 5 "http://$host/"
done
none_world kind=dns "name=~^(0x)?[0-9a-f.]+$"
none_world kind=packet proto=6 dst=127.0.0.1
evil_saw_nothing
verified
