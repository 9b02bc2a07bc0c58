#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# MCP over https: calls, JSON and event streams are held as in clear; other hosts stay untouched.
. "$(dirname "$0")/../lib.sh"
export SSL_CERT_FILE=$CA
policy <<-'EOP'
	version: 1
	rules:
	  - allow: https://gh.test/mcp
	    mcp: {tools: [search, "read_*"]}
EOP
cat >"$E2E/client.py" <<-'EOC'
	import json, urllib.request
	def post(query, *messages):
	    body = json.dumps(messages[0] if len(messages) == 1 else messages).encode()
	    request = urllib.request.Request("https://gh.test/mcp" + query, body, {
	        "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
	    with urllib.request.urlopen(request) as answer:
	        return answer.read().decode()
	def call(id, name):
	    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}}
	lists = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
	print("allowed:", json.loads(post("", call(1, "read_file")))["result"])
	print("denied:", json.loads(post("", call(2, "delete_all")))["error"]["code"])
	print("json:", [t["name"] for t in json.loads(post("", lists))["result"]["tools"]])
	events = [json.loads(line[6:]) for line in post("?as=sse", lists, call(4, "search")).splitlines()
	    if line.startswith("data: ")]
	print("sse:", [t["name"] for t in events[0]["result"]["tools"]], events[1]["id"])
EOC
expect 0 "called read_file.*denied: -32050.*json: \['search', 'read_file'\].*sse: \['search', 'read_file'\] 4" \
	inside /usr/bin/python3 "$E2E/client.py"
world 3 kind=http method=POST "path=~^/mcp"
none_world kind=http "body=~delete_all"
audit event=network_blocked reason=rule app=tls status=200 url=https://gh.test/mcp
verified
