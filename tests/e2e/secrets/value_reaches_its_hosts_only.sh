#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The real value goes to the hosts under `for`; to any other host not even the placeholder does.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
policy <<-'EOF2'
	version: 1
	rules: [allow: gh.test, {allow: api.allowed.test, inspect: true}, allow: "https://a.pkg.test/x", allow: "http://pkg.test"]
	secrets: {GH: {env: GH, for: [gh.test]}}
EOF2
cat >"$E2E/try" <<-'EOF2'
	ask() { curl -sS --max-time 5 -o /dev/null -w '%{http_code} ' "$@"; }
	[ ${#GH} = 42 ] && [ "$GH" != ghp_0123456789abcdefghijklmno"p"qrstuvwxyzAB ] || echo BAD
	ask https://gh.test/a -H "Authorization: token $GH"
	ask https://gh.test/b -H "X-Api-Key: $GH" -b "t=$GH"
	echo . && printf %s "$GH" >"$HOME/body"
	b64=$(printf %s "$GH" | base64 -w0) hex=$(printf %s "$GH" | od -An -tx1 | tr -d ' \n')
	for host in https://api.allowed.test https://a.pkg.test/x? http://pkg.test; do
		ask "$host" -H "Authorization: token $GH" && ask "$host" -u "me:$GH" && ask "$host" -b "t=$GH"
		ask "$host" -H "X-$GH: 1"
		ask "$host" -H "X: $b64" && ask "$host" -H "X: xx$hex"
		ask "$host" -H "X: $(printf %s "$GH" | tr a-z A-Z)"
		ask "$host/$GH" && ask "$host?%67%68%70%5f${GH#ghp_}"
		ask "$host?a=%2567hp_${GH#ghp_}"
		ask "$host" -d "@$HOME/body"
		ask "$host" -d "{\"t\":\"\\u0067hp_${GH#ghp_}\"}"
		ask "$host" -H 'Transfer-Encoding: chunked' -d "a=1&t=$GH"
		ask "$host" -d "t=x$(printf 'x:%s' "$GH" | base64 -w0)"
	done
EOF2
expect 0 '^200 200 \.\s+(403 ){42}\s*$' inside bash -c "$(cat "$E2E/try")"
world kind=http path=/a "headers.authorization=token $GH"
world kind=http path=/b "headers.x-api-key=$GH" "headers.cookie=t=$GH"
# a body without a length is looked at on its way: its head may be there, no placeholder is
world 3 kind=http method=POST body=
world 5 kind=http
audit 2 event=secret_injected host=gh.test detail=GH
audit 42 event=network_blocked reason=placeholder-leak status=403
verified
