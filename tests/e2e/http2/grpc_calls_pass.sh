#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An unmodified gRPC client and server: unary, both directions at once, streaming, errors in
# trailers; the rules judge each method.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
rpc_origin
RUN=(--ca "$CA")
policy <<-'EOF'
	version: 1
	rules:
	  - allow: ["POST https://h2.test/nej.Echo/unary", "POST https://h2.test/nej.Echo/chat",
	      "POST https://h2.test/nej.Echo/fail", "POST https://h2.test/nej.Echo/more"]
EOF
for bare in "env" "env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY -u grpc_proxy"; do
	inside $bare /usr/bin/python3 "$E2E_SHARED/bin/rpc.py" call h2.test:443 unary chat fail more hidden >"$E2E/out" 2>"$E2E/err" ||
		fail "$(cat "$E2E/err")"
	for line in 'unary 30003 cba' 'chat echo 0, echo 1, echo 2, echo 3, echo 4' 'more 5 prompt' \
		'fail NOT_FOUND no such thing: a%b .*because' 'hidden PERMISSION_DENIED'; do
		grep -q "^$line" "$E2E/out" || fail "no $line: $(cat "$E2E/out")"
	done
done
none_world kind=rpc method=hidden
audit event=network_blocked method=POST "url=https://h2.test/nej.Echo/hidden"
audit event=network_allowed method=POST "url=https://h2.test/nej.Echo/chat"
verified
