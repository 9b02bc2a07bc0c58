#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Other tools are answered with a JSON-RPC error and never reach the server, however they are named.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOP'
	version: 1
	rules:
	  - allow: http://gh.test/mcp
	    mcp: {tools: [search, "read_*"]}
EOP
call() { # BODY [CURL-OPTION...]
	local body=$1
	shift
	inside curl -sS --max-time 9 -H "Content-Type: ${TYPE:-application/json}" --data-binary "$body" \
		-H "Accept: ${ACCEPT:-application/json, text/event-stream}" -w ' %{http_code}' "$@" http://gh.test/mcp
}
one() { echo "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"method\":\"tools/call\",\"params\":{\"name\":\"$1\"}}"; }
expect 0 '"text": "called search".* 200' call "$(one search)"
expect 0 'called read_file.* 200' call "$(one 're\u0061d_file')" -H 'Transfer-Encoding: chunked'
expect 0 '"id":"a\\u0062","error":.*tool delete_all is not.*line 3.* 200' call "$(one delete_all)"
expect 0 'delete_all.* 200' call "$(one 'd\u0065lete_all')"
expect 0 '^\[.*"id":1,"error".*"id":"ab","error".*\] 200' call \
	"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},$(one Search | sed 's/a\\u0062/ab/')]"
expect 0 'framing.* 400' call "$(one search | sed 's/}}$/,"name":"delete_all"}}/')"
expect 0 'framing.* 400' call "$(one search | sed 's/}}$/,"Name":"delete_all"}}/')"
expect 0 'framing.* 400' call "$(one search)$(one delete_all)"
expect 0 'framing.* 400' call 'name=delete_all'
expect 0 'framing.* 415' call "$(one search)" -H 'Content-Encoding: gzip'
TYPE='application/json; charset=utf-7' expect 0 'framing.* 415' call "$(one search)"
expect 0 'framing.* 400' call "$(one search)" -H 'Mcp-Name: delete_all'
expect 0 'unknown-protocol.* 403' call '' -X GET -H 'Connection: Upgrade' -H 'Upgrade: websocket' \
	-H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' -H 'Sec-WebSocket-Version: 13'
expect 0 'initialize.* 200' call '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
ACCEPT='*/*' expect 0 '"error":.*delete_all.* 403' call "$(one delete_all)"
none_world kind=http "body=~elete_all"
world 3 kind=http method=POST path=/mcp
audit event=network_blocked reason=rule status=200 "detail=tool delete_all is not among mcp.tools"
audit event=network_blocked reason=framing status=415
verified
