#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container with the hooks is under its policy from its first instruction; what it and `exec` try is
# judged and recorded with its id; when it is gone nothing of nej is left.
. "$(dirname "$0")/../containers.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
bundle nej.policy="$E2E/policy.yaml" nej.name="$NAME" -- sh -c '
	fetch api.allowed.test 80; echo "allowed $?"
	fetch x.evil.test 80; echo "name $?"
	echo hi | nc -w 3 45.33.32.156 25; echo "address $?"
	while [ ! -e /tmp/go ]; do sleep 0.1; done'
before_end 'runc delete -f "$ID"; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
runtime runc run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
eventually grep -q address "$E2E/out"
grep -q hello "$E2E/out" && grep -q 'allowed 0' "$E2E/out" || fail "$(cat "$E2E/out")"
! grep -qE '(name|address) 0' "$E2E/out" || fail "$(cat "$E2E/out")"
expect 1 'Permission denied|not permitted' runc exec "$ID" nc -w 3 "$EVIL4" 25
expect 0 hello runc exec "$ID" fetch api.allowed.test 80
audit event=network_allowed host=api.allowed.test "container=$ID"
audit event=dns_blocked host=x.evil.test
audit event=network_blocked layer=kernel addr="$EVIL4" port=25
runc exec "$ID" sh -c 'echo >/tmp/go'
eventually bash -c "runc state '$ID' | grep -q stopped"
expect 0 '' runtime runc delete "$ID"
nothing_stays
# A runtime that died ran no poststop: its container starts again all the same.
bundle nej.policy="$E2E/policy.yaml" nej.name="$NAME" -- sleep 60
runtime runc run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
first=$(runc state "$ID" | grep -o '"pid": [0-9]*')
rm -r "/run/runc/$ID" && kill -9 "${first##* }"
eventually bash -c "[ ! -s /sys/fs/cgroup/unified/nej-$ID/cgroup.procs ]"
bundle nej.policy="$E2E/policy.yaml" nej.name="$NAME" -- echo again
expect 0 again runtime runc run --bundle "$BUNDLE" "$ID"
nothing_stays
evil_saw_nothing
verified
