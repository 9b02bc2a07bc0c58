#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Containers of a pod start at the same moment: one confines the pod, the others are in it.
. "$(dirname "$0")/../containers.sh"
POD=nej-$ID/pod0c1d-$ID KIND=io.kubernetes.cri
ids=("$ID" "$ID-b" "$ID-c" "$ID-d")
before_end 'for id in "${ids[@]}"; do runc delete -f "$id"; done
	rmdir /sys/fs/cgroup/unified/"nej-$ID"/*/*/ /sys/fs/cgroup/unified/"nej-$ID"/*/ /sys/fs/cgroup/unified/"nej-$ID"; ip netns del "nej-p-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
ip netns add "nej-p-$ID" && ip -n "nej-p-$ID" link set lo up
for id in "${ids[@]}"; do
	/usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$E2E/$id" "/$POD/$id" net="/run/netns/nej-p-$ID" \
		$KIND.container-type=container $KIND.sandbox-id="$ID-pod" $KIND.sandbox-uid="0c1d-$ID" \
		nej.policy=policy nej.name="$NAME" -- sleep 60
done
start() { runtime runc run -d --bundle "$E2E/$1" "$1" >"$E2E/$1.out" 2>&1 || fail "$(cat "$E2E/$1.out")"; }
confined() { expect 1 'Permission denied|not permitted' runc exec "$1" nc -w 3 "$EVIL4" 25; }
jobs=()
for id in "${ids[@]}"; do
	start "$id" &
	jobs+=($!)
done
wait "${jobs[@]}" || fail "not all started: $(cat "$E2E"/*.out)"
[ "$("$NEJ" status | grep -c "$NAME")" = 1 ] || fail "not one sandbox: $("$NEJ" status)"
for id in "${ids[@]}"; do confined "$id"; done
evil_saw_nothing
