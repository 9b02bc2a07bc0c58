#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# HTTP/2 on both sides: values in fields and bodies, none in answers; requests with different
# credentials never share a connection to the origin.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin only
RUN=(--ca "$CA")
export ONE=one-Zq7xK2mW9vR4tY6uP1sD3fG5hJ8 TWO=two-Bn3cV5bN7mL9kJ1hG2fD4sA6qW8
policy <<<'{version: 1, rules: [allow: h2.test],
 secrets: {ONE: {env: ONE, for: [h2.test]}, TWO: {env: TWO, for: [h2.test], in: [headers, body]}}}'
cat >"$E2E/try" <<-'EOF2'
	u=https://h2.test one="Authorization: token $ONE" two="Authorization: token $TWO"
	for _ in 1 2 3; do
		curl -sS --max-time 9 -o /dev/null $u/one -H "$one" --next -o /dev/null $u/two -H "$two" \
			--next -o /dev/null $u/none --next -o /dev/null $u/one -H "$one" --next -o /dev/null $u/two -d "k=$TWO"
	done
	curl -sS --max-time 5 $u/headers -H "$one" && curl -sS --max-time 5 $u/trailers -H "$one" -D-
	curl -sS --max-time 5 -o /dev/null -w '%{http_version} %{http_code}\n' $u/leak -d "k=$ONE"
EOF2
chmod 755 "$E2E/try"
inside bash "$E2E/try" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
grep -q "${ONE#one-}" "$E2E/out" && fail "the value came back: $(cat "$E2E/out")"
grep -q "\"authorization\":\"token ...-" "$E2E/out" || fail "$(cat "$E2E/out")"
grep -qi 'x-sum: 5' "$E2E/out" || fail "no trailer: $(cat "$E2E/out")"
grep -q '^2 403' "$E2E/out" || fail "$(cat "$E2E/out")"
world 6 kind=http proto=h2 path=/one "headers.authorization=token $ONE"
world 3 kind=http proto=h2 path=/two "headers.authorization=token $TWO"
world 3 kind=http proto=h2 path=/two "body=k=$TWO"
none_world path=/leak
/usr/bin/python3 - "$E2E/world.log" <<-'EOF2'
	import json, sys
	sessions = {}
	for r in map(json.loads, open(sys.argv[1])):
	    if r["kind"] == "http":
	        sessions.setdefault(r["session"], set()).add(r["path"])
	assert all(len(paths - {"/headers", "/trailers"}) <= 1 for paths in sessions.values()), sessions
EOF2
verified
