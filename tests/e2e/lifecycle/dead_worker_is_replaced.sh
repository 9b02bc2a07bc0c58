#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# While it is gone nothing passes; after, all is as before; the log says what happened.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside bash -c "for i in \$(seq 60); do curl -s --max-time 2 http://api.allowed.test/
	curl -sk --noproxy '*' --max-time 2 https://$EVIL4/; sleep 0.1; done" >"$E2E/out" 2>&1 &
run=$!
eventually grep -q hello "$E2E/out"
worker=$(pgrep -fx "nej worker $NAME" || true)
[ -n "$worker" ] || fail "no worker found"
kill -KILL "$worker"
wait "$run" || true
audit event=worker_restarted
[ "$(tail -n 1 "$E2E/out" | grep -c hello)" = 1 ] || fail "$(tail -n 5 "$E2E/out")"
evil_saw_nothing
verified
