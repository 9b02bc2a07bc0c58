#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `in: [headers, query, body]`: path, query and bodies are rewritten in their own encoding, once.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export KEY='k&y "one"=1/2 + \ 0123456789' HEAD=head-0123456789abcdef
policy <<-'EOF2'
	version: 1
	rules: [allow: gh.test]
	secrets: {KEY: {env: KEY, for: [gh.test], in: [headers, query, body]}, HEAD: {env: HEAD, for: [gh.test]}}
EOF2
cat >"$E2E/try" <<-'EOF2'
	ask() { curl -sS --max-time 5 -o /dev/null -w '%{http_code} ' "$@"; }
	ask "https://gh.test/q?key=$KEY&x=1"
	ask "https://gh.test/bot$KEY/send"
	ask https://gh.test/json -H 'Content-Type: application/json' -d "{\"key\":\"$KEY\"}"
	ask https://gh.test/form -d "a=b" --data-urlencode "key=$KEY"
	ask https://gh.test/chunks -H 'Transfer-Encoding: chunked' -H 'Content-Type: text/plain' -d "k $KEY k"
	{ head -c 3000000 /dev/zero | tr '\0' x; printf %s "$KEY"; } | ask https://gh.test/upload --data-binary @-
	echo . && ask "https://gh.test/?k=$HEAD"
	ask https://gh.test/ -d "k=$HEAD"
EOF2
expect 0 '^(200 ){6}\.\s(403 ){2}' inside bash -c "$(cat "$E2E/try")"
url='k%26y%20%22one%22%3D1%2F2%20%2B%20%5C%200123456789'
world kind=http "path=/q?key=$url&x=1"
world kind=http "path=/bot$url/send"
world kind=http path=/json 'body={"key":"k&y \"one\"=1/2 + \\ 0123456789"}'
world kind=http path=/form "body=a=b&key=$url"
world kind=http path=/chunks "body=k $KEY k"
audit 6 event=secret_injected detail=KEY
audit reason=placeholder-leak "detail=~HEAD.*path or query.*does not name"
audit reason=placeholder-leak "detail=~HEAD.*body.*does not name"
none_audit "url=~one"
verified
