#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A credential is only sent over TLS that nej verified: in clear it is refused, on every way.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
policy <<-'EOF2'
	version: 1
	rules: [allow: gh.test, allow: "http://gh.test", allow: "http://api.allowed.test"]
	secrets: {GH: {env: GH, for: [gh.test]}}
EOF2
ask='curl -sS --max-time 5 -w "%{http_code}" -H "Authorization: token $GH"'
expect 0 'only sent over TLS.*403' inside bash -c "$ask http://gh.test/"
expect 0 '403' inside bash -c "$ask --noproxy '*' http://gh.test/"
expect 0 '403' inside bash -c "$ask -p -x http://127.0.0.1:3128 http://gh.test/"
expect 0 '403' inside bash -c "curl -sS -w '%{http_code}' http://gh.test/ -d \"t=\$GH\""
expect 0 '403' inside bash -c "$ask -L --location-trusted https://gh.test/go/302/http://gh.test/"
expect 0 '200' inside bash -c 'curl -sS -w "%{http_code}" http://gh.test/fine'
# a certificate nobody vouches for is no TLS that counts
RUN=()
expect 0 '502' inside bash -c "$ask https://gh.test/ -k"
none_world kind=http port=80 "headers.authorization=~ghp_"
world 1 kind=http "headers.authorization=~ghp_"
audit event=network_blocked host=gh.test port=80 reason=placeholder-leak
verified
