#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The hook is killed at one moment or another: whatever it had done by then, the end that the runtime
# tells leaves nothing, and a sandbox of the name it had wanted is not touched by it.
. "$(dirname "$0")/../containers.sh"
GROUP=/sys/fs/cgroup/unified/nej-$ID
before_end 'runc delete -f "$ID"; kill $waits; for g in "$GROUP" "$GROUP-b"; do rmdir "$g"; done'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
bundle nej.policy=policy -- true
mkdir "$GROUP-b"
# one that waits to be started, as a runtime's does while hooks run
waiting() { bash -c "echo 0 >'$GROUP-b/cgroup.procs'; exec unshare -n sleep 60" & }
state() {
	echo "{\"id\":\"$ID-b\",\"bundle\":\"$BUNDLE\",\"pid\":$1,\"annotations\":{\"nej.policy\":\"policy\",\"nej.name\":\"$2\"}}"
}
hook() { timeout -s KILL "$1" "$NEJ" oci-hook --policies "$E2E" "$2" >>"$E2E/said" 2>&1 </dev/stdin; }
for ms in 005 010 020 040 060 080 120 160; do
	waiting && waits=$!
	eventually bash -c "[ \$(readlink /proc/$waits/exe) = \$(readlink -f \$(command -v sleep)) ]"
	state $waits "$NAME" | hook 0.$ms createRuntime || true
	kill -9 $waits && wait $waits 2>/dev/null || true
	eventually bash -c "[ ! -s '$GROUP-b/cgroup.procs' ]"
	state 0 "$NAME" | hook 5 poststop || fail "poststop: $(cat "$E2E/said")"
	eventually bash -c "! '$NEJ' status | grep -q '$NAME '"
	state 0 "$NAME" | hook 5 poststop || fail "poststop: $(cat "$E2E/said")"
	ID=$ID-b nothing_stays
done
bundle nej.policy=policy nej.name="$NAME" -- sleep 60
runtime runc run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
for ms in 005 020 060; do
	waiting && waits=$!
	eventually bash -c "[ \$(readlink /proc/$waits/exe) = \$(readlink -f \$(command -v sleep)) ]"
	state $waits "$NAME" | hook 0.$ms createRuntime && fail "one name twice"
	kill -9 $waits && wait $waits 2>/dev/null || true
	state 0 "$NAME" | hook 5 poststop || fail "poststop: $(cat "$E2E/said")"
	expect 1 'Permission denied|not permitted' runc exec "$ID" nc -w 3 "$EVIL4" 25
done
expect 0 '' runtime runc delete -f "$ID"
nothing_stays
