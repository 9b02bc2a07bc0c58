#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A forward proxy that is down, wants other credentials, forbids or fails: 502 or 504 that says so,
# and a record of a failure, not of a denial.
. "$(dirname "$0")/../lib.sh"
policy <<-EOF
	upstream: { corp: { url: "http://127.0.0.1:3140", username: jo, password: secret } }
	rules: [{ allow: api.allowed.test, transport: upstream }]
EOF
ask() {
	expect 0 "$1" inside curl -sS --max-time 5 -w ' %{http_code}' http://api.allowed.test/
}
ask 'forward proxy corp .127.0.0.1:3140. is not reached.* 502'
for does in 407 403 502 504 close; do
	forward $does
	case $does in
	504) ask 'the forward proxy corp.*answered 504.* 504' ;;
	close) ask 'without an answer.* 502' ;;
	*) ask "the forward proxy corp.*answered $does.* 502" ;;
	esac
	kill $FORWARD && wait $FORWARD || true
	rm "$E2E/forward.ready"
done
audit 6 event=network_failed reason=upstream-refused host=api.allowed.test
none_audit event=network_blocked
none_world kind=http
! grep -q secret "$AUDIT" || fail "the password is in the log"
verified
