#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# SIGHUP: the next request has the new value; a source that fails is a secret that is gone (503); a
# new worker has what the old one had. The command does not see the signal.
. "$(dirname "$0")/../lib.sh"
umask 077 && echo first-value-of-it >"$E2E/token"
policy <<<"{rules: [allow: gh.test], secrets: {T: {file: $E2E/token, for: [gh.test]}}}"
RUN=(--ca "$CA")
mkdir -m 777 "$E2E/do"
inside bash -c "while read -r n <$E2E/fifo; do curl -sS --max-time 5 -o /dev/null -w '%{http_code}' \
	-H \"X-Token: \$T\" https://gh.test/\$n >$E2E/do/\$n.new; mv $E2E/do/\$n.new $E2E/do/\$n; done" >"$E2E/out" 2>&1 &
run=$!
mkfifo -m 666 "$E2E/fifo"
ask() { # N STATUS
	echo "$1" >"$E2E/fifo" && wait_for "$E2E/do/$1"
	[ "$(cat "$E2E/do/$1")" = "$2" ] || fail "request $1: $(cat "$E2E/do/$1" "$E2E/out")"
}
wait_for "/run/nej/$NAME/state"
supervisor=$(grep -oP '^pid=\K.*' "/run/nej/$NAME/state")
ask 1 200
world path=/1 headers.x-token=first-value-of-it
echo second-value-of-it >"$E2E/token"
kill -HUP "$supervisor"
eventually grep -q secrets_read "$AUDIT"
ask 2 200
world path=/2 headers.x-token=second-value-of-it
rm "$E2E/token"
kill -HUP "$supervisor"
eventually grep -q 'failed":"T (No such file' "$AUDIT"
ask 3 503 && audit status=503 reason=secret-unavailable
echo third-value-of-it >"$E2E/token"
kill -HUP "$supervisor"
eventually grep -q "read anew: T" "$E2E/out"
pkill -KILL -fx "nej worker $NAME" -P "$supervisor"
eventually grep -q worker_restarted "$AUDIT"
for n in 4 5 6; do (ask $n 200) && break; sleep 0.5; done # until the bundle has its authority
world path=/$n headers.x-token=third-value-of-it
kill "$run" "$supervisor"
! grep -q "value-of-it" "$AUDIT" || fail "a value is in the log"
verified
