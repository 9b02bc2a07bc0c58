#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A grant of a method and path opens those inside TLS and nothing else; what the policy lets through
# whole is not looked into for its sake; revoked, what it let through ends.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://gh.test/repos", allow: api.allowed.test]}'
inside bash -c "
	(openssl s_client -connect api.allowed.test:443 -servername api.allowed.test < <(sleep 60) >/dev/null 2>&1; echo lost) &
	for i in \$(seq 300); do
		curl -s --max-time 2 -o /dev/null -w 'post %{http_code}\n' -d x https://gh.test/upload/1
		curl -s --max-time 2 -o /dev/null -w 'get %{http_code}\n' https://gh.test/upload/1
		curl -s --max-time 2 -o /dev/null -w 'repos %{http_code}\n' https://gh.test/repos
		curl -s --max-time 2 --cacert '$CA' -o /dev/null -w 'whole %{http_code}\n' https://api.allowed.test/
		sleep 0.05
	done" >"$E2E/out" 2>&1 &
run=$!
now() { eventually bash -c "tail -n 4 '$E2E/out' | grep -q '$1'" || fail "$(tail -n 8 "$E2E/out")"; }
now 'post 403' && now 'whole 200'
expect 0 'grant 1: POST https://gh.test/upload/[*], for 10m' "$NEJ" grant "$NAME" POST 'https://gh.test/upload/*' --for 10m
now 'post 200' && now 'repos 200' && now 'get 403'
audit event=network_allowed method=POST "rule.text=grant 1: POST https://gh.test/upload/*"
expect 0 'grant 2' "$NEJ" grant "$NAME" 'POST https://api.allowed.test/x' --for 10m
expect 0 'grant 3: tcp://gh.test:22' "$NEJ" grant "$NAME" tcp://gh.test:22 --for 10m
now 'whole 200'
expect 0 'grant 4.*for 1h' "$NEJ" grant "$NAME" 'POST https://gh.test/upload/*' --for 1h
audit event=grant_ended grant=1 ended_by=replaced
expect 1 'no such grant' "$NEJ" revoke "$NAME" 1
expect 0 'revoked grant 3: tcp://gh.test:22' "$NEJ" revoke "$NAME" 3
now 'post 200'
expect 0 'revoked grant 4' "$NEJ" revoke "$NAME" 'POST https://gh.test/upload/*'
now 'post 403' && now 'repos 200'
audit event=grant_ended grant=4 ended_by=revoked
expect 0 'revoked grant 2' "$NEJ" revoke "$NAME" --all
! grep -q lost "$E2E/out" || fail "a grant cut what the policy allows"
pkill -f "seq 300" || true
wait "$run" || true
verified
