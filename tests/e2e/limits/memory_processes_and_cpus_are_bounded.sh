#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --memory, --pids, --cpus where cgroup2 has the controllers: all of it is killed when it needs more
# memory, forks fail, time is shared out; each is told and recorded. Elsewhere nothing starts.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
if ! has controllers; then
	RUN=(--pids 10)
	expect 3 '--pids needs the cgroup2 controller .pids.' inside echo it runs
	[ ! -e "$AUDIT" ] || none_audit event=sandbox_started
	[ ! -e "/run/nej/$NAME" ] || fail "its state stays"
	skip "cgroup2 has no controllers memory, pids, cpu here"
fi
RUN=(--memory 64M --pids 10 --cpus 0.2)
expect 137 'needed more than its --memory' inside python3 -c 'b = bytearray(200 << 20); print("it fits")'
audit event=sandbox_started memory=64M pids=10 cpus=0.2
audit event=sandbox_finished signal=9 oom_kills=~[1-9]
expect 0 'fits' inside python3 -c 'b = bytearray(8 << 20); print("it fits")'
expect ! 'could not make [0-9]+ processes' inside bash -c 'for i in $(seq 20); do sleep 3 & done; wait'
audit event=sandbox_finished pids_refused=~[1-9]
used=$(inside bash -c 'end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do :; done; times')
[[ ${used%%$'\n'*} =~ ^0m[01]\. ]] || fail "a fifth of a CPU for 3 s was $used"
verified
