#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --idle: a command that neither asks, connects nor holds a connection is told to end, and killed after
# the grace; one that does is not. --grace alone: SIGTERM to nej. Each is in the log.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: ["api.allowed.test", "tcp://api.allowed.test:7"]]}'
RUN=(--idle 2s)
within 6000 expect 143 'idle for 2s' inside sleep 100
audit event=sandbox_started idle=2s
audit event=sandbox_finished signal=15 'ended_by=idle for 2s'
expect 0 'it goes on' inside bash -c 'for i in 1 2 3 4 5; do curl -s -o /dev/null http://api.allowed.test/; sleep 1; done; echo it goes on'
expect 0 'it holds' inside bash -c 'exec 3<>/dev/tcp/api.allowed.test/7; sleep 5; echo it holds'
expect 0 'denied too' inside bash -c 'for i in 1 2 3 4 5; do curl -s http://x.evil.test/; sleep 1; done; echo denied too'
RUN=(--idle 1s --grace 1s)
within 6000 expect 137 'did not end within 1s: killed' inside bash -c 'trap "" TERM; sleep 100; sleep 100'
audit event=sandbox_finished signal=9 'ended_by=idle for 1s'
RUN=(--grace 1s)
inside bash -c 'trap "echo told" TERM; echo up; while :; do sleep 0.1; done' >"$E2E/out" 2>&1 &
run=$!
eventually grep -q up "$E2E/out"
kill -TERM "$(sed -n 's/^pid=//p' "/run/nej/$NAME/state")"
wait $run && fail "it ended well"
grep -q told "$E2E/out" || fail "$(cat "$E2E/out")"
audit event=sandbox_finished signal=9 'ended_by=killed 1s after SIGTERM'
RUN=(--idle 5)
expect 2 '--idle: .5. is not a time' inside true
verified
