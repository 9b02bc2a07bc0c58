#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A policy that is broken, not there, or others' to write; a misspelt annotation; a name in use, a
# state that is none: the container fails with the reason, its process never runs, nothing stays.
. "$(dirname "$0")/../containers.sh"
before_end 'for id in "$ID" "$ID-2"; do runc delete -f "$id"; done; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
cp "$E2E/policy.yaml" "$E2E/open.yaml" && chown 1234 "$E2E/open.yaml"
echo '{version: 1, rules: [alow: x]}' >"$E2E/broken.yaml"
refused 'No such file' nej.policy="$E2E/none.yaml" nej.name="$NAME"
refused 'others may change .*open.yaml' nej.policy="$E2E/open.yaml" nej.name="$NAME"
refused 'broken.yaml has errors, the first in line 1' nej.policy="$E2E/broken.yaml" nej.name="$NAME"
refused 'annotation nej.polcy is unknown' nej.polcy=agent
NEJ_HOOK='' refused 'no annotation nej.policy, and the default' nej.name="$NAME"
refused 'cannot name a sandbox' nej.policy="$E2E/policy.yaml" nej.name='a b'
NEJ_HOOK="--require --default $E2E/none.yaml" refused 'no annotation' a=b
bundle nej.policy="$E2E/policy.yaml" nej.name="$NAME" -- sleep 60
runtime runc run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
bundle2() { /usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$E2E/second" "/nej-$ID-2" "$@"; }
bundle2 nej.policy=policy nej.name="$NAME" -- true
runtime runc run --bundle "$E2E/second" "$ID-2" >"$E2E/out" 2>&1 && fail "one name twice"
grep -q "a sandbox named $NAME is running" "$E2E/out" || fail "$(cat "$E2E/out")"
eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
for state in '' '[]' '{"id":"../x","bundle":"/"}' '{"id":"a","bundle":"x"}' '{"id":"a","id":"b"}'; do
	expect 2 . bash -c "'$NEJ' oci-hook createRuntime <<<'$state'"
done
expect 0 '' bash -c "'$NEJ' oci-hook poststop <<<'{\"id\":\"never-there\",\"bundle\":\"/\",\"pid\":0}'"
