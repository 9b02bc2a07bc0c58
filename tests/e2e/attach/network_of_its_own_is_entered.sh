#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --pid of a process with a network namespace of its own: with nothing but lo, where what nej adds to
# lo goes again; and with a device, where others' listeners on its loopback are not for the target.
. "$(dirname "$0")/../lib.sh"
target
IN=nej-c-$ID
ip netns add "$IN"
AT_END+=('kill $(ip netns pids "$IN") 2>/dev/null; ip netns del "$IN"')
in_it() { joins nsenter --net="/run/netns/$IN" "$@"; }
policy <<<'{version: 1, rules: [allow: api.allowed.test, allow: "10.9.9.0/24:7"], private: [10.9.9.0/24]}'
in_it sleep 100 &
eventually grep -q . "$TARGET/cgroup.procs"
pid=$(head -n 1 "$TARGET/cgroup.procs")
attach --pid "$pid"
expect 0 hello in_it curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 1 '^E' in_it $CLIENT tcp "$EVIL4" 25 hi
in_it $CLIENT serve 127.0.0.1 3000 "$E2E/served" &
wait_for "$E2E/served"
expect 0 local in_it $CLIENT tcp 127.0.0.1 3000 hi
audit event=sandbox_started net=none attached=true "target_pid=$pid"
let_go
[ -z "$(ip -n "$IN" -o addr show dev lo to 10.0.0.0/8)" ] || fail "an address stays"
expect 1 '^E' in_it $CLIENT tcp "$OK4" 80 hi
ip -n "$IN" link add eth9 type veth peer name eth8
ip -n "$IN" link set eth9 up && ip -n "$IN" link set eth8 up
nsenter --net="/run/netns/$IN" $CLIENT serve 127.0.0.1 3001 "$E2E/other" &
in_it $CLIENT serve 127.0.0.1 3002 "$E2E/own" &
wait_for "$E2E/other" && wait_for "$E2E/own"
attach --pid "$pid"
expect 0 hello in_it curl -sS --max-time 5 http://api.allowed.test/
expect 1 '^(EACCES|EPERM)' in_it $CLIENT tcp 127.0.0.1 3001 hi
expect 0 local in_it $CLIENT tcp 127.0.0.1 3002 hi
let_go
evil_saw_nothing
verified
