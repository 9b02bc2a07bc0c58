#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sockets that the sandbox had, in every state and out of sight: connected in a network namespace that
# its process has left, or unused there; on its way; accepted afterwards; passed on afterwards.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
BLACK=203.0.113.9
before() { in_target /usr/bin/python3 "$E2E_SHARED/bin/before.py" "$@" "$E2E" >"$E2E/$1.out" 2>&1 & }
on_internet ip route add blackhole $BLACK/32
nsenter --net="/run/netns/$HOST_NS" $CLIENT serve 127.0.0.1 3001 "$E2E/host" &
wait_for "$E2E/host"
before elsewhere "$OK4" 7
before elsewhere-unused 127.0.0.1 3001
before beginning $BLACK 7
before listening 172.30.0.2 8080
before passing "$OK6" 7
for way in elsewhere elsewhere-unused beginning listening passing; do wait_for "$E2E/$way.ready"; done
on_internet $CLIENT banner 172.30.0.2 8080 >"$E2E/banner" 2>&1 &
sleep 0.3
to_target
tried=$(grep -c "\"dst\": \"$BLACK\"" "$E2E/world.log")
grep -q 'other network namespaces' "$E2E/attach.out" || fail "no warning: $(cat "$E2E/attach.out")"
on_internet ip route del blackhole $BLACK/32
on_internet $CLIENT connect 172.30.0.2 8080 >"$E2E/late" 2>&1 &
late=$!
touch "$E2E/go"
for way in elsewhere elsewhere-unused beginning listening passing; do
	eventually grep -qE '^(E|TIMEOUT)' "$E2E/$way.out" || fail "$way: $(cat "$E2E/$way.out")"
	! grep -q heard "$E2E/$way.out" || fail "$way was heard"
done
wait $late && fail "connected from outside: $(cat "$E2E/late")"
! grep -q "$CANARY" "$E2E/banner" || fail "what was accepted afterwards speaks"
world "$tried" kind=packet dst=$BLACK && none_world kind=canary
[ ! -e "$E2E/host.served" ] && evil_saw_nothing
let_go
verified
