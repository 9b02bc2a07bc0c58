#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A body that is looked into still gets its credential at the end, and leaks none elsewhere.
. "$(dirname "$0")/../lib.sh"
export SSL_CERT_FILE=$CA TOKEN=tok-0123456789abcdef
policy <<-'EOP'
	version: 1
	rules:
	  - allow: [https://gh.test/mcp, https://api.allowed.test/mcp]
	    mcp: {tools: [search]}
	secrets:
	  TOKEN: {env: TOKEN, for: [gh.test], in: [headers, body]}
EOP
cat >"$E2E/call.sh" <<-'EOC'
	echo "$TOKEN" | grep -q 0123456789abcdef && echo "the value is inside"
	curl -sS --max-time 9 -w ' %{http_code}\n' -H 'Accept: application/json' --data-binary \
	  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'$2'","arguments":{"t":"'$TOKEN'"}}}' "$1"
EOC
expect 0 '^\{.*called search.* 200' inside sh "$E2E/call.sh" https://gh.test/mcp search
expect 0 '^\{.*-32050.* 200' inside sh "$E2E/call.sh" https://gh.test/mcp delete_all
expect 0 'placeholder-leak.* 403' inside sh "$E2E/call.sh" https://api.allowed.test/mcp search
world 1 kind=http method=POST "body=~\"t\":\"$TOKEN\""
world 1 kind=http method=POST
audit event=secret_injected host=gh.test
audit event=network_blocked reason=placeholder-leak host=api.allowed.test
! grep -q "$TOKEN" "$AUDIT" || fail "the value is in the audit"
verified
