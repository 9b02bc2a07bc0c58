#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kill -9 of the supervisor: nothing passes, in no sandbox of another kind is it let go; the next
# attach of the name takes over; detach without a supervisor lets go and writes it down.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
get=(curl -sS --max-time 3 http://api.allowed.test/)
killed() {
	kill -KILL "$("$NEJ" status "$NAME" --json | jq '.[0].pid')"
	eventually bash -c "! '$NEJ' status '$NAME' --json | jq -e '.[0].live' >/dev/null"
}
to_target
expect 0 hello in_target "${get[@]}"
killed
expect ! '' in_target "${get[@]}"
expect 1 '^E' in_target $CLIENT tcp "$EVIL4" 25 hi
expect ! 'left processes cut off' inside true
expect ! '' in_target "${get[@]}"
mkdir "$TARGET-other"
AT_END+=('rmdir "$TARGET-other"')
expect 2 'left another cgroup confined' on_host "$NEJ" attach --cgroup "$TARGET-other" -p "$E2E/policy.yaml" -n "$NAME"
to_target
audit event=adopted
expect 0 hello in_target "${get[@]}"
killed
expect 1 '^E' in_target $CLIENT tcp "$EVIL4" 25 hi
evil_saw_nothing
let_go
audit event=sandbox_finished 'ended_by=~supervisor had died'
[ ! -e "/sys/fs/bpf/nej/$NAME" ] && [ ! -e "/run/nej/$NAME" ] && [ ! -e "/run/nej/$NAME.sock" ] || fail "pins or state stay"
expect 0 'hi peer' in_target $CLIENT tcp "$OK4" 7 hi
expect 1 'no sandbox named' "$NEJ" detach "$NAME"
verified
