#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# crun with the hooks, in the foreground and not: confined from its first instruction, `exec` too; what
# could get out is not started; `crun run`, which waits for all that its hooks leave behind, ends.
. "$(dirname "$0")/../containers.sh"
command -v crun >/dev/null || skip "there is no crun here"
before_end 'crun_at delete -f "$ID"; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
# It takes no hybrid hierarchy: the same cgroup2 where it looks for it.
crun_at() {
	on_host unshare -m --propagation private bash -c "mount --bind '$E2E/resolv.conf' /etc/resolv.conf
		mountpoint -q /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup
		LD_PRELOAD=$E2E_SHARED/bin/memlock.so exec crun --root '$E2E/crun' --cgroup-manager=cgroupfs \"\$@\"" \
		crun "$@" </dev/null
}
bundle nej.policy=policy nej.name="$NAME" run.oci.hooks.stderr="$E2E/said" -- sh -c 'fetch api.allowed.test 80; nc -w 3 45.33.32.156 25; echo "address $?"'
timeout 30 env bash -c "$(declare -f crun_at on_host); HOST_NS=$HOST_NS E2E=$E2E E2E_SHARED=$E2E_SHARED; crun_at run --bundle '$BUNDLE' '$ID'" \
	>"$E2E/out" 2>&1 || fail "$(cat "$E2E/out" "$E2E/said")"
grep -q hello "$E2E/out" && grep -q 'Permission denied' "$E2E/out" && grep -q 'address 1' "$E2E/out" || fail "$(cat "$E2E/out")"
nothing_stays
audit event=network_allowed host=api.allowed.test "container=$ID"
audit event=network_blocked layer=kernel addr="$EVIL4" port=25
bundle nej.policy=policy nej.name="$NAME" -- sleep 60
crun_at run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out" "$E2E/said")"
expect 0 hello crun_at exec "$ID" fetch api.allowed.test 80
expect 1 'Permission denied' crun_at exec "$ID" nc -w 3 "$EVIL4" 25
expect 0 '' crun_at delete -f "$ID"
nothing_stays
bundle nej.policy=policy nej.name="$NAME" run.oci.hooks.stderr="$E2E/said" caps=SYS_ADMIN -- echo it runs
crun_at run --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 && fail "it started"
! grep -q "it runs" "$E2E/out" && grep -q "it has CAP_SYS_ADMIN" "$E2E/said" || fail "$(cat "$E2E/out" "$E2E/said")"
nothing_stays
evil_saw_nothing
verified
