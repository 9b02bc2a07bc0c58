#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Wrong password, unknown name, no credentials, another's password: 407 and a record with the source;
# each sandbox is judged by its own policy, in absolute form too.
. "$(dirname "$0")/../lib.sh"
tenant one <<<'{rules: [allow: api.allowed.test]}'
tenant two <<<'{rules: [allow: a.pkg.test]}'
tenant three <<<'{rules: [allow: api.allowed.test]}'
chmod 644 "$E2E/policies/three.secret"
gateway
status() {
	local want=$1 user=$2
	shift 2
	expect 0 "^$want" at_gateway "$user" -o /dev/null -w '%{http_code} %header{x-nej-reason}' "$@"
}
for url in http://api.allowed.test/ http://a.pkg.test/; do
	status '407 credentials' one:the-password-of-two "$url"
	status '407 credentials' nobody "$url"
	status '407 credentials' one: "$url"
	status '407 credentials' three "$url"
done
expect 0 '^407' on_host curl -sS -o /dev/null -w '%{http_code}' -x http://172.30.0.2:3140 \
	http://api.allowed.test/
status '200 ' one http://api.allowed.test/
status '403 no-rule' one http://a.pkg.test/
status '200 ' two http://a.pkg.test/
status '403 no-rule' two http://api.allowed.test/
expect 0 hello at_gateway one --cacert "$CA" https://api.allowed.test/
expect 56 'response 403' at_gateway one https://evil.test/
expect 56 'response 407' at_gateway nobody https://api.allowed.test/
gate event=network_blocked reason=credentials sandbox=+gateway 'detail=from 172.30.0.2' status=407
gate 1 event=network_blocked reason=no-rule sandbox=two host=api.allowed.test
none_gate sandbox=three event=network_allowed
grep -q 'sandbox=three.*nobody else may read' "$E2E/gateway.out" || fail "$(cat "$E2E/gateway.out")"
! grep -q password-of "$E2E/gateway.jsonl" "$E2E/gateway.out" || fail "a password is in a log"
evil_saw_nothing
AUDIT=$E2E/gateway.jsonl verified
