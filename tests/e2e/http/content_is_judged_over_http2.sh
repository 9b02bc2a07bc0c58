#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# MCP calls and hosted tools over HTTP/2 on both sides: each stream is judged, what passes is whole.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin only
RUN=(--ca "$CA")
policy <<-'EOP'
	version: 1
	rules:
	  - allow: https://h2.test/mcp
	    mcp: {tools: [search]}
	  - allow: h2.test
	    hosted_tools: deny
EOP
call() { echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\"}}"; }
post() { # PATH FILE-OR-BODY
	inside curl -sS --http2 --max-time 9 -H 'Accept: application/json' --data-binary "$2" \
		-w ' %{http_code} %{http_version}' "https://h2.test$1"
}
/usr/bin/python3 -c 'print("{\"messages\":[{\"content\":\"" + "x" * 300000 + "\"}]}")' >"$E2E/big.json"
expect 0 ' 200 2' post /mcp "$(call search)"
expect 0 '"code":-32050.* 200 2' post /mcp "$(call delete_all)"
expect 0 '"permission_error".* 403 2' post /v1/messages '{"tools":[{"type":"web_fetch_20250910"}]}'
expect 0 ' 200 2' post /v1/messages "@$E2E/big.json"
head -c 5000000 /dev/zero >"$E2E/huge"
expect 0 'framing.* 413 2' post /mcp "@$E2E/huge"
expect 0 'framing.* 400 2' post /v1/messages "@$E2E/huge"
world kind=http proto=h2 path=/mcp "body=$(call search)"
world kind=http proto=h2 path=/v1/messages "body=~^.{2000}$" "headers=~content-length.: .3000[0-9]{2}\W"
none_world kind=http "body=~(delete_all|web_fetch)"
audit event=network_blocked reason=rule status=200
verified
