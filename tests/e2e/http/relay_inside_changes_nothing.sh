#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A relay of the sandbox's own between client and proxy, with headers that claim to be someone.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for lines in 'Proxy-Authorization: Basic cm9vdDpyb290' 'X-Forwarded-For: 127.0.0.1' 'Via: 1.1 nej' \
	'Forwarded: for=127.0.0.1'; do
	expect 0 '^HTTP/1.1 403' inside $CLIENT bytes 127.0.0.1 3128 \
		"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n$lines\r\n\r\n"
done
expect 0 '^HTTP/1.1 4|nothing' inside $CLIENT bytes 127.0.0.1 3128 \
	'PROXY TCP4 1.2.3.4 5.6.7.8 1 443\r\nCONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n'
evil_saw_nothing
verified
