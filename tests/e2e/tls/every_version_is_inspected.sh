#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# TLS 1.2 and 1.3 on both sides; older ones are refused. The client's ALPN is what the origin speaks.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: [gh.test, "gh.test:8445"], inspect: true}]}'
for version in TLSv1_2 TLSv1_3; do
	expect 0 "^${version/_/.} .*issuer nej" inside $INTLS peer gh.test "version=$version"
done
expect 0 hello inside curl -sS --max-time 5 --tls-max 1.2 https://gh.test/
expect 0 hello inside curl -sS --max-time 5 https://gh.test:8445/
expect ! . inside timeout 5 openssl s_client -tls1_1 -cipher ALL:@SECLEVEL=0 -connect gh.test:443 -brief
expect 0 'http/1.1 issuer' inside $INTLS peer gh.test alpn=http/1.1
expect ! . inside $INTLS peer gh.test alpn=spdy/1
expect 0 hello inside curl -sS --max-time 5 --http1.0 https://gh.test/ # offers http/1.0 alone
verified
