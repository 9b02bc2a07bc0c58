#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A policy that breaks refuses its sandbox with 503 and cuts it off, the others go on; mended it serves
# again. Another password ends the old one; a sandbox that is taken away is unknown.
. "$(dirname "$0")/../lib.sh"
tenant one <<<'{rules: [allow: api.allowed.test]}'
tenant two <<<'{rules: [allow: api.allowed.test]}'
gateway
is() {
	[ "$(at_gateway "$2" -o /dev/null -w '%{http_code}' http://api.allowed.test/)" = "$1" ]
}
is 200 one && is 200 two || fail "not served at first"
at_gateway one -p -N --max-time 20 'http://api.allowed.test/sse?n=60&ms=300' >"$E2E/drip" 2>&1 &
drip=$!
tenant one <<<'{rules: [alow: api.allowed.test]}'
eventually is 503 one
eventually eval "! kill -0 $drip 2>/dev/null"
is 200 two || fail "the other sandbox is not served"
gate event=policy_loaded sandbox=one reason=policy-unavailable 'detail=~alow'
gate event=network_blocked sandbox=one reason=policy-unavailable status=503
tenant one <<<'{rules: [allow: a.pkg.test]}'
eventually is 403 one
tenant one <<<'{rules: [allow: api.allowed.test]}'
eventually is 200 one
chmod 666 "$E2E/policies/one.yaml"
eventually is 503 one
chmod 600 "$E2E/policies/one.yaml"
eventually is 200 one
echo another-password-of-two >"$E2E/policies/two.secret"
eventually is 407 two
is 200 two:another-password-of-two || fail "the new password is not taken"
rm "$E2E/policies/two.yaml"
eventually is 407 two:another-password-of-two
AUDIT=$E2E/gateway.jsonl verified
