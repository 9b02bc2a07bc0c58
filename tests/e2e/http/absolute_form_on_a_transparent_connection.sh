#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A proxy request on a connection that was redirected: never that host with this port.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, "api.allowed.test:8080", .pkg.test]]}'
end='\r\nConnection: close\r\n\r\n'
for line in 'GET http://evil.test/ HTTP/1.1\r\nHost: evil.test' \
	'GET http://evil.test/ HTTP/1.1\r\nHost: api.allowed.test' \
	'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443'; do
	expect 0 '^HTTP/1.1 4' inside $CLIENT bytes "$OK4" 80 "$line$end"
done
for port in 80 8080; do
	inside bash -c "$CLIENT bytes \$($CLIENT names api.allowed.test | cut -d' ' -f1) $port \
		'GET http://a.pkg.test/x HTTP/1.1\r\nHost: a.pkg.test$end'" || true
done
none_world kind=http port=8080 host=a.pkg.test
none_world kind=accept "dst=$PKG4" port=8080
evil_saw_nothing
verified
