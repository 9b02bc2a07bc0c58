#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# As second_request_is_judged_too.sh, inside TLS: every request on the connection is its own.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<-'EOF'
	version: 1
	rules:
	  - allow: GET https://gh.test/repos/**
	  - allow: POST https://gh.test/graphql
EOF
one='GET /repos/x HTTP/1.1\r\nHost: gh.test\r\n\r\n'
two='DELETE /repos/x HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n\r\n'
post='POST /graphql HTTP/1.1\r\nHost: gh.test\r\nContent-Length: 5\r\n\r\nhello'
expect 0 '^HTTP/1.1 200.*HTTP/1.1 403' inside $INTLS http1 gh.test "$one$two"
expect 0 '^HTTP/1.1 200.*HTTP/1.1 403' inside $INTLS http1 gh.test "$post$two"
expect 0 '^HTTP/1.1 403.*HTTP/1.1 200' inside $INTLS http1 gh.test 'GET /other HTTP/1.1\r\nHost: gh.test\r\n\r\n' \
	sleep:200 'GET /repos/y HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n\r\n'
world 1 kind=http method=GET path=/repos/x
world 1 kind=http method=GET path=/repos/y
world 1 kind=http method=POST path=/graphql body=hello
none_world kind=http method=DELETE
none_world kind=http path=/other
audit 2 event=network_blocked method=DELETE status=403 "url=https://gh.test/repos/x"
verified
