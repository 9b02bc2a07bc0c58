#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A worker that died took its authority with it; programs in the sandbox trust the new one's, by
# variable and without, also a bundle that is already open somewhere.
. "$(dirname "$0")/../lib.sh"
policy <<<'{rules: [{allow: gh.test, inspect: true}]}'
RUN=(--ca "$CA")
inside bash -c "for i in \$(seq 60); do sha256sum /run/nej/trust/ca.pem /etc/ssl/certs/ca-certificates.crt
	curl -sS --max-time 2 https://gh.test/with; env -i /usr/bin/curl -sS --max-time 2 https://gh.test/without
	sleep 0.1; done" >"$E2E/out" 2>&1 &
run=$!
eventually grep -q hello "$E2E/out"
kill -KILL "$(pgrep -fx "nej worker $NAME")"
wait "$run" || true
audit event=worker_restarted
[ "$(tail -n 4 "$E2E/out" | grep -c 'hello from gh.test')" = 2 ] || fail "$(tail -n 8 "$E2E/out")"
for file in ca.pem ca-certificates.crt; do
	[ "$(grep -o "^[0-9a-f]* .*$file" "$E2E/out" | sort -u | wc -l)" = 2 ] || fail "$file: $(sort "$E2E/out" | uniq -c)"
done
expect ! '' inside sh -c 'echo x >/run/nej/trust/ca.pem || rm /run/nej/trust/ca.pem || mv /run/nej/trust /run/nej/x'
verified
