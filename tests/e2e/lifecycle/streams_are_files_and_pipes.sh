#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A network socket or a folder as a standard stream is refused: both were opened outside. A reader
# at the end of a pipe waits for the command, not for nej.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
run="$NEJ run -p $E2E/policy.yaml -n $NAME --audit $AUDIT --"
expect 2 'network socket' on_host bash -c "exec $run touch $E2E/ran <>/dev/tcp/$EVIL4/7"
expect 2 'folder' on_host bash -c "exec $run touch $E2E/ran <$E2E"
[ ! -e "$E2E/ran" ] || fail "the command ran"
mkfifo "$E2E/pipe"
nsenter --net="/run/netns/$HOST_NS" $run bash -c 'exec >/dev/null; sleep 5' >"$E2E/pipe" &
run_pid=$!
expect 0 '' timeout 3 cat "$E2E/pipe"
wait "$run_pid"
expect 0 '^x' inside bash -c 'echo x >/dev/stdout'
none_world kind=canary
