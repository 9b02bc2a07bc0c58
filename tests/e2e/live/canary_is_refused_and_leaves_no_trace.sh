#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The canary finds everything refused, under any policy and in either namespace, and is no attempt.
. "$(dirname "$0")/../lib.sh"
tried() { # POLICY [OPTION]: runs so far, records of attempts, and what was said
	policy <<<"$1"
	RUN=(${2:+"$2"})
	rm -f "$AUDIT"*
	inside sleep 20 >"$E2E/out" 2>&1 &
	local run=$!
	wait_for "/run/nej/$NAME.sock"
	for _ in 1 2; do
		expect 0 'canary: refused everywhere' "$NEJ" status "$NAME" --canary
	done
	expect 0 'enforcing' "$NEJ" status "$NAME"
	"$NEJ" status "$NAME" --json | tr -d ' \n' | grep -q '"refused":{}' || fail "counted: $("$NEJ" status "$NAME" --json)"
	expect 0 "nej_canary_ok\{sandbox=\"$NAME\"\} 1" "$NEJ" status "$NAME" --metrics
	echo "$1" >"$E2E/policy.yaml"
	expect 0 . "$NEJ" reload "$NAME"
	expect 0 'canary: refused everywhere' "$NEJ" status "$NAME" --canary
	kill "$("$NEJ" status "$NAME" --json | grep -oP '"pid": \K\d+')"
	wait "$run" || true
	none_audit event=~^network_ && none_audit event=dns_blocked && none_audit event=canary_failed
	none_audit event=events_lost
	audit event=sandbox_finished
	grep sandbox_finished "$AUDIT" | grep -q '"kernel":{},"records":{}' || fail "$(tail -n1 "$AUDIT")"
	verified
}
tried '{version: 1, rules: [allow: api.allowed.test]}'
tried '{version: 1, rules: []}'
tried '{version: 1, default: allow, rules: []}'
tried '{version: 1, rules: [allow: api.allowed.test]}' --net=host
evil_saw_nothing
