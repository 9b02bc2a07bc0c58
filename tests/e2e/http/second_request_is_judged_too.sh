#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Bytes behind an allowed request are a request of their own, on every way in.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOF'
	version: 1
	rules:
	  - allow: GET http://gh.test/repos/**
	  - allow: POST http://gh.test/graphql
EOF
one='GET /repos/x HTTP/1.1\r\nHost: gh.test\r\n\r\n'
two='DELETE /repos/x HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n\r\n'
inside $CLIENT bytes "$EVIL4" 80 "$one$two" >"$E2E/out" || true
post='POST /graphql HTTP/1.1\r\nHost: gh.test\r\nContent-Length: 5\r\n\r\nhello'
inside $CLIENT bytes "$EVIL4" 80 "$post$two" >>"$E2E/out" || true
full='GET http://gh.test/repos/x HTTP/1.1\r\nHost: gh.test\r\n\r\n'
inside $CLIENT bytes 127.0.0.1 3128 "$full${two/\/repos/http://gh.test/repos}" >>"$E2E/out" || true
world kind=http method=GET path=/repos/x
world kind=http method=POST path=/graphql body=hello
none_world kind=http method=DELETE
audit event=network_blocked method=DELETE status=403
verified
