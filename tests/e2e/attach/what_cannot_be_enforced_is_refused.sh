#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What nej cannot confine from here is refused with the reason, and stays as it was: no cgroup2, the
# root, nej's own cgroup, another kernel's processes, a socket from outside, what is confined already.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: []}'
cannot() {
	expect ! "$1" on_host "$NEJ" attach -p "$E2E/policy.yaml" -n "$NAME-b" --audit "$E2E/b.jsonl" --resolver "$RESOLVER" "${@:2}"
}
cannot 'no cgroup2' --cgroup /tmp
cannot 'there is no cgroup' --cgroup "$TARGET/nowhere"
cannot 'cgroup root' --cgroup "$(dirname "$TARGET")"
expect 2 'cut itself off' in_target "$NEJ" attach -p "$E2E/policy.yaml" -n "$NAME-b" --cgroup "$TARGET"
cp /bin/sleep "$E2E/runsc-sandbox"
in_target "$E2E/runsc-sandbox" 100 &
eventually pgrep -f "$E2E/runsc-sandbox"
cannot 'gVisor' --cgroup "$TARGET"
pkill -f "$E2E/runsc-sandbox" && eventually bash -c "! grep -q . $TARGET/cgroup.procs"
# A connection made elsewhere comes along into the cgroup.
on_host bash -c "exec 3<>/dev/tcp/$OK4/7; echo \$\$ >$TARGET/cgroup.procs; touch $E2E/in
	while [ ! -e $E2E/go ]; do sleep 0.1; done; echo hi >&3; head -n 1 <&3" >"$E2E/out" &
holder=$!
wait_for "$E2E/in"
cannot 'holds a network socket that was made outside' --cgroup "$TARGET"
[ -z "$(bpftool cgroup tree "$TARGET" | grep nej_)" ] || fail "programs stay"
touch "$E2E/go" && wait $holder || true
grep -q hi "$E2E/out" || fail "the connection was touched"
to_target
cannot "confined by the sandbox $NAME|$NAME of nej is on it" --cgroup "$TARGET"
mkdir "$TARGET/below"
cannot "confined by the sandbox $NAME already" --cgroup "$TARGET/below"
expect 1 "no policy|cannot read|" "$NEJ" detach nobody-here
let_go
verified
