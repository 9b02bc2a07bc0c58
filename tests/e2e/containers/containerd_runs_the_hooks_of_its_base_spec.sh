#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# containerd starts a container whose specification has the hooks (as its base_runtime_spec gives them
# to every one): it is confined by the default policy, and nothing stays when it is deleted.
. "$(dirname "$0")/../containers.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
NEJ_HOOK="--require --default $E2E/policy.yaml" bundle nej.name="$NAME" -- sh -c '
	fetch api.allowed.test 80; fetch x.evil.test 80; nc -w 3 45.33.32.156 25; sleep 60'
sed -i "s|\"path\": \"rootfs\"|\"path\": \"$BUNDLE/rootfs\"|" "$BUNDLE/config.json"
printf 'version = 2\nroot = "%s/root"\nstate = "%s/state"\n[grpc]\n  address = "%s/sock"\n' "$E2E" "$E2E" "$E2E" >"$E2E/config.toml"
on_host unshare -m bash -c "mount --bind '$E2E/resolv.conf' /etc/resolv.conf
	exec containerd -c '$E2E/config.toml' --log-level error" >"$E2E/containerd.log" 2>&1 </dev/null &
wait_for "$E2E/sock" || fail "$(cat "$E2E/containerd.log")"
at() { ctr --address "$E2E/sock" "$@" </dev/null; }
before_end 'at task kill -s KILL "$ID"; at task delete "$ID"; at container delete "$ID"; pkill -f "address $E2E/sock"
	pkill -f "containerd -c $E2E"; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
at run -d --config "$BUNDLE/config.json" --log-uri "file://$E2E/out" "$ID" >"$E2E/ctr.out" 2>&1 || fail "$(cat "$E2E/ctr.out")"
eventually grep -q 'Permission denied' "$E2E/out"
grep -q hello "$E2E/out" || fail "$(cat "$E2E/out")"
audit event=network_allowed host=api.allowed.test "container=$ID"
audit event=dns_blocked host=x.evil.test
audit event=network_blocked layer=kernel addr="$EVIL4" port=25
at task kill -s KILL "$ID" && eventually bash -c "ctr --address '$E2E/sock' task ls | grep -q STOPPED"
at task delete "$ID" >"$E2E/delete" 2>&1 || fail "$(cat "$E2E/delete")"
at container delete "$ID"
eventually bash -c "[ ! -e '/run/nej/.oci/$ID' ]"
nothing_stays
evil_saw_nothing
verified
