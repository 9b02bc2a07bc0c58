#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container of a pod starts while the sandbox of the pod's ended ones is being let go, by a supervisor
# that hangs for shorter or longer than it is waited for: it is confined, by that or anew.
. "$(dirname "$0")/../containers.sh"
POD=nej-$ID/pod0c1d-$ID KIND=io.kubernetes.cri
before_end 'kill -CONT ${supervisor:-}; for id in "$ID" "$ID-b"; do runc delete -f "$id"; done
	rmdir /sys/fs/cgroup/unified/"nej-$ID"/*/*/ /sys/fs/cgroup/unified/"nej-$ID"/*/ /sys/fs/cgroup/unified/"nej-$ID"; ip netns del "nej-p-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
ip netns add "nej-p-$ID" && ip -n "nej-p-$ID" link set lo up
for id in "$ID" "$ID-b"; do
	/usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$E2E/$id" "/$POD/$id" net="/run/netns/nej-p-$ID" \
		$KIND.container-type=container $KIND.sandbox-id="$ID-pod" $KIND.sandbox-uid="0c1d-$ID" \
		nej.policy=policy nej.name="$NAME" -- sleep 60
done
start() { runtime runc run -d --bundle "$E2E/$1" "$1" >"$E2E/$1.out" 2>&1 || fail "$(cat "$E2E/$1.out")"; }
confined() { expect 1 'Permission denied|not permitted' runc exec "$1" nc -w 3 "$EVIL4" 25; }
# while_hanging SECONDS
while_hanging() {
	start "$ID" && confined "$ID"
	# The end of another of the pod is told, its own is not, as when a runtime is killed.
	on_host "$NEJ" oci-hook poststop <<<"{\"id\":\"$ID-a\",\"bundle\":\"/a\",\"annotations\":{\"$KIND.container-type\":\"container\",\"$KIND.sandbox-id\":\"$ID-pod\"}}"
	pid=$(runc state "$ID" | grep -o '"pid": [0-9]*')
	rm -r "/run/runc/$ID" && kill -9 "${pid##* }"
	eventually grep -q 'populated 0' "/sys/fs/cgroup/unified/$POD/cgroup.events"
	supervisor=$("$NEJ" status --json "$NAME" | grep -o '"pid": *[0-9]*' | head -n 1 | grep -o '[0-9]*')
	kill -STOP "$supervisor"
	on_host "$NEJ" oci-hook poststop <<<"{\"id\":\"$ID-none\",\"bundle\":\"/none\",\"pid\":0}" & tidies=$!
	sleep 0.5
	start "$ID-b" & starts=$!
	sleep "$1" && kill -CONT "$supervisor"
	wait "$tidies" && wait "$starts" || fail "$(cat "$E2E/$ID-b.out")"
	eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
	confined "$ID-b"
	expect 0 hello runc exec "$ID-b" fetch api.allowed.test 80
	runtime runc delete -f "$ID-b" && nothing_stays
}
while_hanging 1
while_hanging 4
evil_saw_nothing
