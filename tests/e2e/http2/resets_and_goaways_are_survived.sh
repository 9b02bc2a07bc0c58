#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A stream the origin resets is reset for the client alone; GOAWAY ends what is new, not what runs;
# a storm of resets (CVE-2023-44487) is cut off or served, and the sandbox's other clients live.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: h2.test, inspect: true}]}'
inside node "$E2E_SHARED/bin/streams.js" https://h2.test /a /reset '/slow?ms=500' /b >"$E2E/out" || true
for line in '^/a 200' '^/reset \(failed\|502\)' '^/slow?ms=500 200 late' '^/b 200'; do
	grep -q "$line" "$E2E/out" || fail "no $line: $(cat "$E2E/out")"
done
inside node "$E2E_SHARED/bin/streams.js" https://h2.test '/slow?ms=300' /goaway >"$E2E/out" || true
grep -q '^/slow?ms=300 200 late' "$E2E/out" || fail "$(cat "$E2E/out")"
grep -q '^/goaway 200 last one' "$E2E/out" || fail "$(cat "$E2E/out")"
expect 0 hello inside curl -sS --max-time 5 https://h2.test/again
cat >"$E2E/storm.sh" <<-'EOF'
	$INTLS storm h2.test 6000 &
	sleep 0.2
	for n in 1 2 3 4 5; do curl -sS --max-time 3 https://h2.test/alive; done
	wait
EOF
expect 0 '(hello.*){5}' inside bash "$E2E/storm.sh"
verified
