#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Pods of containerd's CRI with nej's runtime, as a kubelet starts them: confined as one by the annotation,
# with loopback between containers; one that keeps NET_RAW, or has no policy, is not started; nothing stays.
# timeout: 120
. "$(dirname "$0")/../containers.sh"
. "$(dirname "$0")/../cri.sh"
pods=()
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
cri_begin
before_end 'for each in "${pods[@]}"; do cri end "$each"; done; cri_end'
# pod HANDLER KEY=VALUE...: into $pod
pod() {
	pod=$(cri pod "$1" "box-${#pods[@]}" "0c1d-$ID-${#pods[@]}" "/nej-$ID/pod0c1d-$ID-${#pods[@]}" "${@:2}" 2>&1) || fail "$pod"
	pods+=("$pod")
}
pod nej nej.policy=nobody
expect 1 'nobody.yaml: No such file' cri container "$pod" agent nej/box NET_RAW -- sleep 60
pod nej
expect 1 'no annotation nej.policy' cri container "$pod" agent nej/box NET_RAW -- sleep 60
pod nej nej.policy=policy nej.name="$NAME"
expect 1 'it has CAP_NET_RAW' cri container "$pod" raw nej/box '' -- sleep 60
agent=$(cri container "$pod" agent nej/box NET_RAW -- sleep 60 2>&1) || fail "$agent"
second=$(cri container "$pod" second nej/box NET_RAW -- nc -l -p 3000 2>&1) || fail "$second"
[ "$("$NEJ" status | grep -c "$NAME")" = 1 ] || fail "not one sandbox: $("$NEJ" status)"
eventually cri exec "$agent" -- sh -c 'echo hi | nc -w 3 127.0.0.1 3000'
expect 0 '' cri end "$second"
eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
expect 0 hello cri exec "$agent" -- fetch api.allowed.test 80
expect 1 'Permission denied' cri exec "$agent" -- nc -w 3 "$EVIL4" 25
expect 1 '' cri exec "$agent" -- fetch x.evil.test 80
audit event=network_allowed host=api.allowed.test "container=$pod"
audit event=dns_blocked host=x.evil.test
expect 0 '' cri end "$agent"
expect 0 '' cri end "$pod"
rmdir "/sys/fs/cgroup/unified/nej-$ID/pod0c1d-$ID-2" && eventually bash -c "! '$NEJ' status | grep -q '$NAME '" # the kubelet does that
cri container "${pods[1]}" tidies nej/box NET_RAW -- true 2>/dev/null && fail 'it started'
ID=${pod:0:40} nothing_stays
evil_saw_nothing
verified
