#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The right status at the right moment, with the reason for people and for programs.
. "$(dirname "$0")/../lib.sh"
zone <<<'gone.pkg.test A 151.101.64.250'
policy <<<'{version: 1, rules: [deny: mirror.test, allow: [api.allowed.test, .pkg.test, "gone.pkg.test:81"]]}'
expect 0 '^HTTP/1.1 403.*X-Nej-Reason: rule.*deny' inside $CLIENT bytes 127.0.0.1 3128 \
	'CONNECT mirror.test:443 HTTP/1.1\r\nHost: mirror.test:443\r\n\r\n'
expect 0 'X-Nej-Reason: no-rule.*evil.test' inside curl -sSi --max-time 5 http://evil.test/
expect 0 '502' inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://gone.pkg.test:81/
expect 0 '502' inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://nxdomain.pkg.test/
expect 0 '502|504' inside curl -sS --max-time 9 -o /dev/null -w '%{http_code}' http://servfail.pkg.test/
expect 0 '403.*200' inside $CLIENT bytes 127.0.0.1 3128 \
	'GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n' sleep:100 \
	'GET http://api.allowed.test/ HTTP/1.1\r\nHost: api.allowed.test\r\nConnection: close\r\n\r\n'
audit event=network_failed reason=upstream-refused host=gone.pkg.test
audit event=network_failed reason=resolve-failed host=nxdomain.pkg.test
evil_saw_nothing
verified
