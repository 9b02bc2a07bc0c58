#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Containers marked as Kubernetes' runtimes mark them: the first confines the cgroup of its pod, the
# others are in it, with loopback between them; a pod without a cgroup of its own has a sandbox each.
. "$(dirname "$0")/../containers.sh"
POD=$NAME-pod UID_OF_POD=0c1d-$ID KIND=io.kubernetes.cri
before_end 'for id in "$ID" "$ID-b" "$ID-c" "$ID-d"; do runc delete -f "$id"; done
	rmdir /sys/fs/cgroup/unified/"nej-$ID"/*/ /sys/fs/cgroup/unified/"nej-$ID"; ip netns del "nej-p-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
ip netns add "nej-p-$ID" && ip -n "nej-p-$ID" link set lo up
# member ID CGROUP TYPE -- COMMAND
member() {
	local id=$1 cgroup=$2 type=$3
	shift 4
	/usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$E2E/$id" "/nej-$ID/$cgroup/$id" net="/run/netns/nej-p-$ID" \
		$KIND.container-type="$type" $KIND.sandbox-id="$ID" $KIND.sandbox-uid="$UID_OF_POD" \
		nej.policy="$E2E/policy.yaml" nej.name="$NAME" -- "$@"
	runtime runc run -d --bundle "$E2E/$id" "$id" >"$E2E/$id.out" 2>&1 || fail "$(cat "$E2E/$id.out")"
}
member "$ID" "pod${UID_OF_POD//-/_}.slice" sandbox -- sh -c 'nc -l -p 3000 </bin/true; sleep 60'
member "$ID-b" "pod${UID_OF_POD//-/_}.slice" container -- sleep 60
[ "$("$NEJ" status | grep -c "$NAME")" = 1 ] || fail "not one sandbox: $("$NEJ" status)"
expect 0 hello runc exec "$ID-b" fetch api.allowed.test 80
expect 1 'Permission denied' runc exec "$ID-b" nc -w 3 "$EVIL4" 25
expect 0 '' runc exec "$ID-b" sh -c 'echo hi | nc -w 3 127.0.0.1 3000'
runc delete -f "$ID-b"
eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
expect 1 'Permission denied' runc exec "$ID" nc -w 3 "$EVIL4" 25
verified
runtime runc delete -f "$ID" && nothing_stays
member "$ID" shared sandbox -- sleep 60
member "$ID-c" shared container -- sleep 60
[ "$("$NEJ" status | grep -c "$NAME")" = 2 ] || fail "not two sandboxes: $("$NEJ" status)"
expect 0 hello runc exec "$ID-c" fetch api.allowed.test 80
expect 1 'Permission denied' runc exec "$ID-c" nc -w 3 "$EVIL4" 25
runtime runc delete -f "$ID-c" && runtime runc delete -f "$ID" && nothing_stays
evil_saw_nothing
