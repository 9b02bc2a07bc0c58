#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container in the host's pid namespace, or in that of processes which are not confined with it, could
# have one of the same user act for it: it is not started. In a pod, whose cgroup is confined, it is.
. "$(dirname "$0")/../containers.sh"
before_end 'kill -9 $other ${pause:-}; runc delete -f "$ID"
	rmdir /sys/fs/cgroup/unified/"nej-$ID"/*/*/ /sys/fs/cgroup/unified/"nej-$ID"/*/ /sys/fs/cgroup/unified/"nej-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
GROUP=/sys/fs/cgroup/unified/nej-$ID POD=pod0c1d-$ID KIND=io.kubernetes.cri
named=(nej.policy=policy nej.name="$NAME")
unshare -pf --kill-child sleep 60 &
other=$!
eventually test -e "/proc/$other/task/$other/children"
eventually bash -c "[ -n \"\$(cat /proc/$other/task/$other/children)\" ]"
stranger=$(tr -d ' ' <"/proc/$other/task/$other/children")
refused 'shares its pid namespace' "${named[@]}" pid=host
refused "not confined with it, $stranger among" "${named[@]}" pid="/proc/$stranger/ns/pid"
NEJ_HOOK+=' --accept processes' starts "${named[@]}" pid="/proc/$stranger/ns/pid"
# The one that holds a pod's namespaces, as containerd starts it: no hook ran for it.
mkdir -p "$GROUP/$POD/pause"
bash -c "echo 0 >'$GROUP/$POD/pause/cgroup.procs'; exec unshare -pf --kill-child sleep 60" &
pause=$!
eventually bash -c "[ \$(wc -l <'$GROUP/$POD/pause/cgroup.procs') = 2 ]"
first=$(tr -d ' ' <"/proc/$pause/task/$pause/children")
marks=("$KIND.container-type=container" "$KIND.sandbox-id=$ID-pod" "$KIND.sandbox-uid=0c1d-$ID")
/usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$BUNDLE" "/nej-$ID/$POD/scope/container" pid="/proc/$first/ns/pid" \
	"${named[@]}" "${marks[@]}" -- sleep 60
runtime runc run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
[ "$("$NEJ" status --json "$NAME" | grep -o "nej-$ID/[^\"]*")" = "nej-$ID/$POD" ] || fail "$("$NEJ" status --json "$NAME")"
expect 1 'Permission denied|not permitted' runc exec "$ID" nc -w 3 "$EVIL4" 25
expect 0 '' runtime runc delete -f "$ID"
kill -9 $pause && wait $pause || true
rmdir "$GROUP/$POD"/*/*/ "$GROUP/$POD"/*/ "$GROUP/$POD" 2>/dev/null || true
eventually bash -c "! '$NEJ' status | grep -q '$NAME '"
evil_saw_nothing
