#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Requests by which a model API would search or fetch get that API's own error, over TLS and in clear.
. "$(dirname "$0")/../lib.sh"
export SSL_CERT_FILE=$CA
policy <<-'EOP'
	version: 1
	rules:
	  - allow: [gh.test, api.allowed.test]
	    hosted_tools: deny
EOP
ask() { # URL BODY [CURL-OPTION...]
	local url=$1 body=$2
	shift 2
	inside curl -sS --max-time 9 -H 'Content-Type: application/json' --data-binary "$body" -w ' %{http_code}' "$@" "$url"
}
anthropic='^\{"type":"error","error":\{"type":"permission_error","message":".*\} 403'
openai='^\{"error":\{"message":".*,"code":"hosted_tools_denied"\}\} 403'
gemini='^\{"error":\{"code":403,"message":".*,"status":"PERMISSION_DENIED"\}\} 403'
tool() { echo "{\"model\":\"m\",\"tools\":[{\"type\":\"$1\",\"name\":\"x\"}]}"; }
for scheme in https http; do
	expect 0 "$anthropic" ask $scheme://gh.test/v1/messages "$(tool web_search_20250305)"
	expect 0 '^hello.* 200' ask $scheme://gh.test/v1/messages "$(tool custom)"
done
expect 0 "$anthropic" ask https://gh.test/v1/messages/batches "{\"requests\":[{\"params\":$(tool web_fetch_20260318)}]}"
expect 0 "$anthropic" ask https://gh.test/v1/messages '{"mcp_servers":[{"type":"url","url":"https://evil.test"}]}'
expect 0 "$openai" ask https://api.allowed.test/v1/responses "$(tool web_search_preview)"
expect 0 "$openai" ask https://api.allowed.test/v1/responses "$(tool 'mc\u0070')"
expect 0 "$openai" ask https://api.allowed.test/v1/chat/completions '{"web_search_options":{}}'
expect 0 "$openai" ask https://api.allowed.test/v1/batches '{"input_file_id":"file-1"}'
expect 0 "$gemini" ask https://gh.test/v1beta/models/g:streamGenerateContent?alt=sse '{"tools":[{"googleSearch":{}}]}'
expect 0 "$gemini" ask https://gh.test/v1beta/models/g:generateContent '{"tools":[{"url_context":{}}]}'
expect 0 'framing.* 400' ask https://gh.test/v1/messages '{"tools":[],"tools":[{"type":"web_search"}]}'
expect 0 'framing.* 415' ask https://gh.test/v1/messages '{}' -H 'Content-Encoding: gzip'
expect 0 '^hello' inside curl -sS --max-time 9 -F purpose=batch -F "file={};filename=x" https://api.allowed.test/v1/files
world 3 kind=http method=POST
none_world kind=http "body=~(web_|google|url_context|input_file)"
audit event=network_blocked reason=rule status=403 url=https://gh.test/v1/messages 'detail=~web_search_20250305'
verified
