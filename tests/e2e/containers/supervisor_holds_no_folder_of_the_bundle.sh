#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the runtime mounted for a bundle it can unmount while the sandbox lives: the supervisor's working
# directory is elsewhere.
. "$(dirname "$0")/../containers.sh"
before_end 'runc delete -f "$ID"; umount "$BUNDLE"; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
mkdir "$BUNDLE" && mount -t tmpfs nej "$BUNDLE"
bundle nej.policy=policy nej.name="$NAME" -- sleep 60
on_host bash -c "cd '$BUNDLE' && exec runc run -d --bundle . '$ID'" >"$E2E/out" 2>&1 </dev/null || fail "$(cat "$E2E/out")"
eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
for cwd in /proc/[0-9]*/cwd; do
	[[ $(readlink "$cwd") != "$BUNDLE"* ]] || grep -qz sleep "${cwd%/cwd}/cmdline" || fail "$(tr '\0' ' ' <"${cwd%/cwd}/cmdline") stays in the bundle"
done
expect 0 '' runtime runc delete -f "$ID"
nothing_stays
