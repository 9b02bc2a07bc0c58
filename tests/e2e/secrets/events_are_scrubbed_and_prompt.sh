#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A credential cut over the pieces of an event stream is taken out, and whole events never wait.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
policy <<<'{version: 1, rules: [allow: gh.test], secrets: {GH: {env: GH, for: [gh.test]}}}'
get='curl -sSN --max-time 10 -H "Authorization: token $GH" https://gh.test'
expect 0 'data: token ghp_[A-Za-z0-9]{38}' inside bash -c "$get/echo/event"
inside bash -c "$get/echo/event" | grep -q "$GH" && fail "the value came back"
inside bash -c "$get/sse'?n=5&ms=200' | while read -r line; do echo \"\$line \$(date +%s.%N)\"; done" >"$E2E/out"
/usr/bin/python3 - "$E2E/out" <<-'EOF2'
	import sys
	events = [line.split() for line in open(sys.argv[1]) if line.startswith("data:")]
	assert len(events) == 5, events
	late = [float(e[3]) - float(e[2]) for e in events]
	assert max(late) < 0.15, late
EOF2
verified
