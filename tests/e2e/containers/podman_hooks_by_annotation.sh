#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# podman with the example of tools/oci in its hooks folder: a container with the annotation is confined
# by the named policy of root's folder, one without is left alone; nothing stays of either.
. "$(dirname "$0")/../containers.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
bundle -- true
mkdir -p "$E2E/hooks" "$E2E/policies" && mv "$E2E/policy.yaml" "$E2E/policies/agent.yaml"
for stage in createRuntime poststop; do
	sed "s|/usr/local/bin/nej|$NEJ|; s|/etc/nej/policies|$E2E/policies|" \
		"$(dirname "$0")/../../../tools/oci/hooks.d/nej-$stage.json" >"$E2E/hooks/nej-$stage.json"
done
before_end 'podman_at rm -af -t 0; rmdir /sys/fs/cgroup/unified/libpod_parent'
podman_at() {
	runtime podman --root "$E2E/podman" --runroot "$E2E/podman-run" --tmpdir "$E2E/podman-tmp" \
		--runtime runc --cgroup-manager=cgroupfs --events-backend=file --hooks-dir "$E2E/hooks" "$@"
}
box() {
	podman_at run --network none --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --pids-limit 0 \
		--no-hosts "$@"
}
box --annotation nej.policy=agent --annotation "nej.name=$NAME" --rootfs "$BUNDLE/rootfs" sh -c '
	fetch api.allowed.test 80; fetch x.evil.test 80; nc -w 3 45.33.32.156 25' >"$E2E/out" 2>&1 || true
grep -q hello "$E2E/out" && grep -q 'Permission denied' "$E2E/out" || fail "$(cat "$E2E/out")"
audit event=network_allowed host=api.allowed.test 'container=~^[0-9a-f]{64}$'
audit event=dns_blocked host=x.evil.test
podman_at rm -af -t 0 >"$E2E/rm" 2>&1 || fail "$(cat "$E2E/rm")"
nothing_stays
box --rootfs "$BUNDLE/rootfs" nc -w 3 "$EVIL4" 25 >"$E2E/alone" 2>&1 || true
grep -q 'unreachable' "$E2E/alone" || fail "not left alone: $(cat "$E2E/alone")"
box --annotation nej.policy=nobody --rootfs "$BUNDLE/rootfs" true >"$E2E/unknown" 2>&1 && fail "it started"
grep -q "policies/nobody.yaml: No such file" "$E2E/unknown" || fail "$(cat "$E2E/unknown")"
evil_saw_nothing
verified
