#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The server's lists lose the other tools: in JSON, in batches, in events; the rest is untouched.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOP'
	version: 1
	rules:
	  - allow: http://gh.test/mcp
	    mcp: {tools: [search, "read_*"]}
EOP
ask() { # QUERY BODY...
	inside curl -sS --max-time 9 --compressed -H 'Accept: application/json, text/event-stream' \
		-w ' %{http_code}' --data-binary "$2" "http://gh.test/mcp$1"
}
list='{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
ping='{"jsonrpc":"2.0","id":2,"method":"ping"}'
only='"tools": \[\{"name": "search", [^}]*\}\},\{"name": "read_file", [^}]*\}\}\]'
expect 0 "^\{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": \{$only\}\} 200" ask '' "$list"
expect 0 "^\[.*$only.*\"called\": \"ping\".*\] 200" ask '' "[$list, $ping]"
expect 0 "^event: message..?data: .*$only.*data: .*ping.* 200" ask '?as=sse' "[$list, $ping]"
expect 0 '"called": "ping"\}\} 200' ask '' "$ping"
expect 0 'upstream-refused.* 502' ask '?as=gzip' "$list"
expect 0 '"called": "ping"\}\} 200' ask '?as=gzip' "$ping"
expect 0 "^: hello.*event: endpoint.data: /mcp\?s=1.*$only" inside curl -sSN --max-time 9 http://gh.test/mcp
world kind=http path=/mcp
verified
