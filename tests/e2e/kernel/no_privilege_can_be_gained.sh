#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Set-uid programs, other cgroups, other namespaces, the BPF pins.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
expect 0 'NoNewPrivs:\s1' inside grep NoNewPrivs /proc/self/status
expect 0 'CapEff:\s0+\s' inside cat /proc/self/status
expect 0 'CapBnd:\s0+\s' inside cat /proc/self/status
for user in nobody daemon; do
	RUN=(-u "$user")
	expect ! '' inside unshare -n true
	expect ! '' inside mount -t tmpfs none /mnt
	expect ! '' inside nsenter -t 1 -n true
	expect 0 '^none' inside bash -c 'for f in $(find /sys/fs/cgroup /proc/1/root/sys/fs/cgroup \
		-name cgroup.procs 2>/dev/null); do (echo $$ >$f) 2>/dev/null && echo "$f"; done; echo none'
	expect ! '' inside ls "/sys/fs/bpf/nej/$NAME/settings"
	expect 0 '^none' inside bash -c 'ls /sys/fs/bpf/nej/*/* 2>/dev/null; echo none'
done
RUN=(-u root)
expect ! 'root' inside true
RUN=()
expect 0 '^Groups:\s*$|Groups:\s[0-9]+\s*$' inside grep ^Groups: /proc/self/status
