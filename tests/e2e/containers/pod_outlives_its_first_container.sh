#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The first container of a pod ends, as when it crashed: the others stay confined, and nothing of nej
# stays when they have ended. One that names another policy than its pod's is not started.
. "$(dirname "$0")/../containers.sh"
POD=nej-$ID/pod0c1d-$ID KIND=io.kubernetes.cri
before_end 'for id in "$ID" "$ID-b"; do runc delete -f "$id"; done
	rmdir /sys/fs/cgroup/unified/"nej-$ID"/*/ /sys/fs/cgroup/unified/"nej-$ID"; ip netns del "nej-p-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
ip netns add "nej-p-$ID" && ip -n "nej-p-$ID" link set lo up
for id in "$ID" "$ID-b"; do
	[ "$id" = "$ID" ] && type=sandbox || type=container
	/usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$E2E/$id" "/$POD/$id" net="/run/netns/nej-p-$ID" \
		$KIND.container-type=$type $KIND.sandbox-id="$ID" $KIND.sandbox-uid="0c1d-$ID" \
		nej.policy=policy nej.name="$NAME" -- sleep 60
	runtime runc run -d --bundle "$E2E/$id" "$id" >"$E2E/$id.out" 2>&1 || fail "$(cat "$E2E/$id.out")"
done
sed "s/\"policy\"/\"other\"/" "$E2E/$ID-b/config.json" >"$E2E/config.json" && cp "$E2E/policy.yaml" "$E2E/other.yaml"
mkdir "$E2E/$ID-c" && cp -r "$E2E/$ID-b/rootfs" "$E2E/$ID-c/" && mv "$E2E/config.json" "$E2E/$ID-c/"
sed -i "s|/$POD/$ID-b|/$POD/$ID-c|" "$E2E/$ID-c/config.json"
expect ! 'confined already by another policy than' runtime runc run --bundle "$E2E/$ID-c" "$ID-c"
expect 0 '' runtime runc delete -f "$ID"
eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
expect 1 'Permission denied|not permitted' runc exec "$ID-b" nc -w 3 "$EVIL4" 25
expect 0 hello runc exec "$ID-b" fetch api.allowed.test 80
expect 0 '' runtime runc delete -f "$ID-b"
nothing_stays
evil_saw_nothing
verified
