#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Capabilities and folders of the host by which a container could get past nej: it is not started, and
# the reason says what to leave out; what the operator accepts is.
. "$(dirname "$0")/../containers.sh"
before_end 'runc delete -f "$ID"; rmdir /sys/fs/cgroup/unified/"nej-$ID"; ip netns del "nej-p-$ID"; ip netns del "nej-p-$ID-b"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
NET=/run/netns/nej-p-$ID
ip netns add "nej-p-$ID" && ip -n "nej-p-$ID" link add v0 type veth peer name v1
ip -n "nej-p-$ID" link set v0 up && ip -n "nej-p-$ID" link set v1 up
named=(nej.policy=policy nej.name="$NAME")
refused 'cannot be confined: it has CAP_SYS_ADMIN.*--accept SYS_ADMIN' "${named[@]}" caps=CHOWN,SYS_ADMIN
refused 'it has CAP_DAC_READ_SEARCH' "${named[@]}" caps=DAC_READ_SEARCH
refused 'it has CAP_NET_RAW.*past every hook' "${named[@]}" caps=NET_RAW net="$NET"
refused 'it has CAP_NET_ADMIN' "${named[@]}" caps=NET_ADMIN net="$NET"
ip -n "nej-p-$ID" link set v0 down && ip -n "nej-p-$ID" link set v1 down
refused 'it has CAP_NET_ADMIN' "${named[@]}" caps=NET_ADMIN net="$NET"
ip netns add "nej-p-$ID-b" && ip -n "nej-p-$ID-b" link set lo up
refused 'it has CAP_NET_RAW.*after this hook' "${named[@]}" caps=NET_RAW
refused 'it has CAP_NET_RAW.*after this hook' "${named[@]}" caps=NET_RAW net="$NET-b" hook="/bin/true later"
refused 'it has CAP_NET_RAW.*after this hook' "${named[@]}" caps=NET_RAW user=100000
refused 'it has /run of the host.*control sockets.*leave it out' "${named[@]}" bind=/run:/tmp:rw
refused 'it has /run of the host.*control sockets.*leave it out' "${named[@]}" bind=/run:/tmp:ro
refused 'it has /sys/fs/bpf of the host' "${named[@]}" bind=/sys/fs/bpf:/tmp:ro
refused 'no mount namespace of its own' "${named[@]}" without=mount settings=open
refused 'its root can write to /proc/sys' "${named[@]}" settings=open
refused 'its root can write to /proc/sys' "${named[@]}" settings=open user=0
refused 'it has CAP_SYS_ADMIN' "${named[@]}" caps=SYS_ADMIN user=0
refused 'it has CAP_SYS_BOOT' "${named[@]}" caps=SYS_BOOT
refused 'every disk of the host' "${named[@]}" devices=all
refused 'it can write to /sys/fs/cgroup of the host' "${named[@]}" bind=/sys/fs/cgroup:/tmp:rw
refused 'it has / of the host' "${named[@]}" bind=/:/tmp:rw
NEJ_HOOK="--policies $E2E --accept everything" refused '`everything` is neither a capability' "${named[@]}"
starts "${named[@]}" caps=NET_RAW,NET_ADMIN,CHOWN net="$NET-b"
starts "${named[@]}" bind=/etc:/tmp:ro
starts "${named[@]}" settings=open user=100000 caps=SYS_ADMIN
starts "${named[@]}" bind="$E2E:/tmp:rw"
export NEJ_HOOK="--policies $E2E --accept NET_RAW,mounts"
starts "${named[@]}" caps=NET_RAW net="$NET" bind=/run:/tmp:rw
verified
