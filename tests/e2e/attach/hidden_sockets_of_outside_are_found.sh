#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A connection that was made in another cgroup, where no hook covers it, and is out of sight when nej
# comes: in a Unix socket's queue, in a thread's own descriptors, registered with io_uring. No attach.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: []}'
cannot() {
	expect ! "$1" on_host timeout 20 "$NEJ" attach -p "$E2E/policy.yaml" -n "$NAME-b" --audit "$E2E/b.jsonl" --resolver "$RESOLVER" --cgroup "$TARGET"
	[ -z "$(bpftool cgroup tree "$TARGET" | grep nej_)" ] || fail "programs stay"
}
hides() {
	rm -f "$E2E/go"
	JOIN=$TARGET on_host /usr/bin/python3 "$E2E_SHARED/bin/before.py" "$1" "$OK4" 7 "$E2E" >"$E2E/$1.out" 2>&1 &
	hider=$!
	wait_for "$E2E/$1.ready"
}
ends() { touch "$E2E/go" && wait $hider || true; }
hides queued
cannot 'on their way through a Unix socket'
ends && grep -q heard "$E2E/queued.out" || fail "the connection was touched: $(cat "$E2E/queued.out")"
hides thread
cannot 'made outside of the cgroup|a thread with descriptors of its own'
ends && grep -q heard "$E2E/thread.out" || fail "the connection was touched: $(cat "$E2E/thread.out")"
if on_host /usr/bin/python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) < 0)'; then
	hides ring
	cannot 'registered with io_uring'
	ends
fi
to_target
expect 1 '^(EACCES|EPERM)' in_target $CLIENT tcp "$EVIL4" 25 hi
let_go
verified
