#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The host of a request inside TLS is the one of the certificate: another host, another port, two of
# them, an absolute target and CONNECT are refused, also as second request.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: [gh.test, h2.test], inspect: true}, allow: api.allowed.test]}'
end='\r\nConnection: close\r\n\r\n'
good='GET /good HTTP/1.1\r\nHost: gh.test\r\n\r\n'
cat >"$E2E/each.sh" <<-'EOF'
	for lines; do
	    echo "$lines => $($INTLS http1 gh.test "$lines$END" | head -n 1)"
	    echo "$lines => $($INTLS http1 gh.test "$GOOD$lines$END" | grep -ao '^HTTP/1.1 [0-9]*' | tr '\n' ' ')"
	done
EOF
cases=('GET /b HTTP/1.1\r\nHost: evil.test' 'GET /b HTTP/1.1\r\nHost: h2.test' \
	'GET /b HTTP/1.1\r\nHost: gh.test:8443' 'GET /b HTTP/1.1\r\nHost: gh.test\r\nHost: gh.test' \
	'GET /b HTTP/1.1' 'GET /b HTTP/1.1\r\nHost:' 'GET /b HTTP/1.1\r\nHost: x@gh.test' \
	'GET http://evil.test/b HTTP/1.1\r\nHost: evil.test' 'GET http://gh.test/b HTTP/1.1\r\nHost: gh.test' \
	'GET https://h2.test/b HTTP/1.1\r\nHost: gh.test' 'GET https://gh.test/b HTTP/1.1\r\nHost: evil.test' 'GET https://evil.test/b HTTP/1.1\r\nHost: evil.test' \
	'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443' 'CONNECT h2.test:443 HTTP/1.1\r\nHost: h2.test:443')
output=$(END=$end GOOD=$good inside bash "$E2E/each.sh" "${cases[@]}")
[ "$(grep -c '=> HTTP/1.1 4' <<<"$output")" = ${#cases[@]} ] || fail "$output"
[ "$(grep -c '=> HTTP/1.1 200 HTTP/1.1 4' <<<"$output")" = ${#cases[@]} ] || fail "$output"
expect 0 '^HTTP/1.1 200' inside $INTLS http1 gh.test "GET /ok HTTP/1.1\r\nHost: GH.test:443$end"
audit event=network_blocked host=gh.test reason=host-mismatch
world 1 kind=http path=/ok "host=~^(gh|GH).test(:443)?$"
none_world kind=http path=/b
none_world kind=http method=CONNECT
evil_saw_nothing
verified
