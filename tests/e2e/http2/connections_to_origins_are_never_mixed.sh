#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Names that share an address, two sandboxes, both HTTP versions, many requests: every request goes
# up on a connection that was opened and verified for its own name, by its own sandbox.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
zone <<-EOF
	www.paper.test A 93.184.216.42
	paper.test A 93.184.216.42
	sub.paper.test A 93.184.216.42
EOF
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: [h2.test, .paper.test], inspect: true}]}'
cat >"$E2E/mix.sh" <<-'EOF'
	for how in --http1.1 --http2; do
	    for round in 1 2 3; do
	        curl -sS $how --max-time 9 $(printf "https://%s/$1 -o /dev/null " \
	            h2.test paper.test sub.paper.test www.paper.test h2.test paper.test) || echo failed
	    done
	done
EOF
inside bash "$E2E/mix.sh" first >"$E2E/out" &
first=$!
(NAME=$NAME-b AUDIT=$E2E/second.jsonl && inside bash "$E2E/mix.sh" second) >>"$E2E/out"
wait $first
[ ! -s "$E2E/out" ] || fail "$(cat "$E2E/out")"
world 72 kind=http
/usr/bin/python3 - "$E2E/world.log" <<-'EOF'
	import json, sys
	seen = {}
	for line in open(sys.argv[1]):
	    r = json.loads(line)
	    if r["kind"] == "http":
	        assert r["sni"] == r["host"].lower(), r
	        assert seen.setdefault(r["session"], (r["sni"], r["path"])) == (r["sni"], r["path"]), r
EOF
verified
