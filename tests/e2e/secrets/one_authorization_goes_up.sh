#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two Authorization fields would let the origin choose whose account it is: refused.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
policy <<<'{version: 1, rules: [allow: gh.test], secrets: {GH: {env: GH, for: [gh.test]}}}'
cat >"$E2E/try" <<-'EOF2'
	ask() { curl -sS --max-time 5 -o /dev/null -w '%{http_code} ' "$@"; }
	ask https://gh.test/two -H "Authorization: token $GH" -H 'authorization: Basic bWU6bWU='
	ask https://gh.test/two -H 'Authorization: Basic bWU6bWU=' -H "AUTHORIZATION: token $GH"
	ask https://gh.test/one -H "Authorization: token $GH" -H 'X-Api-Key: mine'
	ask https://gh.test/trailer -H "Authorization: token $GH" -H 'Transfer-Encoding: chunked' -d x
EOF2
expect 0 '^400 400 200 200' inside bash -c "$(cat "$E2E/try")"
none_world kind=http path=/two
world kind=http path=/one "headers.authorization=token $GH" headers.x-api-key=mine
audit 2 event=network_blocked reason=framing status=400 "detail=~one Authorization"
verified
