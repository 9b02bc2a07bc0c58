#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Nothing of nej but the wire ever holds the value: not its output, audit, state or the sandbox.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
GH=ghp_$(tr -dc a-zA-Z0-9 </dev/urandom | head -c 38 || true) && export GH
policy <<<'{version: 1, rules: [allow: gh.test, allow: pkg.test], secrets: {GH: {env: GH, for: [gh.test], in: [headers, query]}}}'
cat >"$E2E/try" <<-'EOF2'
	curl -sS --max-time 5 "https://gh.test/echo/plain?t=$GH" -H "Authorization: token $GH"
	curl -sS --max-time 5 "https://pkg.test/?t=$GH" -H 'Accept: application/json'
	curl -sS --max-time 5 "http://gh.test/?t=$GH"
	env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n'
	cat /etc/environment /proc/1/root/proc/*/environ 2>/dev/null | tr '\0' '\n'
	echo reached
EOF2
inside bash -c "$(cat "$E2E/try")" >"$E2E/out" 2>&1 || true
grep -q reached "$E2E/out" || fail "$(cat "$E2E/out")"
world kind=http "path=/echo/plain?t=$GH"
b64=$(printf %s "${GH#g}" | base64 -w0 | cut -c5-40)
hex=$(printf %s "$GH" | od -An -tx1 | tr -d ' \n')
for form in "${GH#ghp_}" "$b64" "$hex"; do
	grep -raq -- "$form" "$E2E/out" "$AUDIT" && fail "$form: $(grep -ra -- "$form" "$E2E/out" "$AUDIT" | head -3)"
done
# the record of the URL has the placeholder's text as the client sent it
audit event=network_allowed host=gh.test url=~t=ghp_
"$NEJ" log "$AUDIT" | grep -q SECRET || fail "no line for the injection"
"$NEJ" log "$AUDIT" | grep -q "${GH#ghp_}" && fail "the log's print has it"
verified
