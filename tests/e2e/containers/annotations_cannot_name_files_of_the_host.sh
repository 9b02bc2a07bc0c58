#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whoever writes annotations chooses among the operator's policies: no file that a container wrote as
# root into its own root folder, nothing of the host's shown in an error; a default that is broken is an
# error, not none.
. "$(dirname "$0")/../containers.sh"
before_end 'runc delete -f "$ID"; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
mkdir -p "$E2E/policies/team"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
mv "$E2E/policy.yaml" "$E2E/policies/team/agent.yaml"
echo '{version: 1, rules: [allow: evil.test]}' >"$E2E/open.yaml"
(umask 077 && echo 'password: hunter2' >"$E2E/secret.yaml")
export NEJ_HOOK=''
refused 'neither the name of a policy in /etc/nej/policies' nej.policy=/etc/shadow nej.name="$NAME"
refused 'neither the name' nej.policy="$E2E/secret.yaml" nej.name="$NAME"
refused 'neither the name' nej.policy="$BUNDLE/rootfs/open.yaml" nej.name="$NAME"
export NEJ_HOOK="--policies $E2E/policies"
refused 'neither the name' nej.policy="$BUNDLE/rootfs/open.yaml" nej.name="$NAME"
refused 'neither the name' nej.policy="$E2E/policies/../secret.yaml" nej.name="$NAME"
refused 'neither the name' nej.policy=../secret.yaml nej.name="$NAME"
refused 'neither the name' nej.policy="$E2E/policies-of-others.yaml" nej.name="$NAME"
refused 'neither the name' nej.policy="$E2E/policies/team/.agent.yaml" nej.name="$NAME"
ln -s "$E2E/nowhere" "$E2E/dangling.yaml"
NEJ_HOOK="--default $E2E/dangling.yaml" refused 'dangling.yaml: No such file' a=b
NEJ_HOOK="--default $E2E/missing.yaml" refused 'the default .*missing.yaml is not there' a=b
echo 'password: hunter2' >"$E2E/policies/broken.yaml"
refused 'broken.yaml has errors, the first in line 1: .nej check' nej.policy=broken nej.name="$NAME"
# The folder of the standard default is a link to nowhere.
expect 2 'default.yaml: No such file' unshare -m bash -c "mount -t tmpfs nej /etc && ln -s /nowhere /etc/nej &&
	exec '$NEJ' oci-hook createRuntime <<<'{\"id\":\"$ID\",\"bundle\":\"$BUNDLE\",\"pid\":1,\"annotations\":{}}'"
starts nej.policy="$E2E/policies/team/agent.yaml" nej.name="$NAME"
# As Kubernetes lays a ConfigMap out.
mkdir "$E2E/policies/..2026" && mv "$E2E/policies/team/agent.yaml" "$E2E/policies/..2026/"
ln -s ..2026 "$E2E/policies/..data" && ln -s ..data/agent.yaml "$E2E/policies/agent.yaml"
starts nej.policy=agent nej.name="$NAME"
refused 'neither the name' nej.policy=..data/agent.yaml nej.name="$NAME"
chmod 777 "$E2E/policies/..2026"
refused 'others may change .*/..2026' nej.policy=agent nej.name="$NAME"
verified
