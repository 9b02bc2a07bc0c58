#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exit status, signals, standard streams, the terminal.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
expect 7 '' inside bash -c 'exit 7'
expect 0 '^in out' bash -c "echo in | nsenter --net=/run/netns/$HOST_NS $NEJ run -p $E2E/policy.yaml \
	--audit $AUDIT -- bash -c 'read -r x; echo \$x out'"
expect 143 '' inside bash -c 'kill -TERM $$'
expect 127 '' inside "$E2E/no-such-program"
# a folder the user may not enter hides nothing that is there
PATH="/root/bin:$PATH" expect 127 "" inside no-such-program
inside sleep 30 &
pid=$!
eventually pgrep -f "sleep 30"
pkill -TERM -P "$pid" 2>/dev/null || kill -TERM "$pid"
status=0
wait "$pid" || status=$?
[ $status -ne 0 ] || fail "the signal did not pass"
expect 0 'pts/[0-9]+.*[0-9]+ [0-9]+' script -qec "nsenter --net=/run/netns/$HOST_NS $NEJ run -p $E2E/policy.yaml --audit $AUDIT \
	-- bash -c 'test -t 0 && tty && stty size'" /dev/null
