#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Without rights, without cgroup2, without bpffs: a plain message and status 3, nothing runs.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
cannot() {
	local status=0
	"$@" >"$E2E/out" 2>&1 || status=$?
	[ $status -eq 3 ] || [ $status -eq 125 ] || fail "status $status: $(cat "$E2E/out")"
	[ ! -e "$E2E/ran" ] || fail "the command ran"
	[ -s "$E2E/out" ] || fail "no message"
}
run="$NEJ run -p $E2E/policy.yaml --audit $E2E/a.jsonl -- touch $E2E/ran"
cp "$NEJ" "$E2E/nej" && chmod 755 "$E2E/nej"
cannot setpriv --reuid nobody --clear-groups "$E2E/nej" run -p "$E2E/policy.yaml" -- touch "$E2E/ran"
cannot setpriv --bounding-set -bpf,-sys_admin --inh-caps -all $run
cannot unshare -m sh -c "umount -l -a -t cgroup2 && exec $run"
[ ! -e "/sys/fs/bpf/nej/$NAME" ] || fail "pins stay"
