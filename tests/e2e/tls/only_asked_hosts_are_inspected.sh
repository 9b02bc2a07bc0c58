#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A rule about URLs, methods or `inspect` ends TLS for its host alone; everyone else gets the
# origin's own certificate.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<-'EOF'
	version: 1
	rules:
	  - allow: GET https://gh.test/repos/**
	  - {allow: h2.test, inspect: true}
	  - allow: [api.allowed.test, registry.test]
EOF
for host in gh.test h2.test; do
	expect 0 "issuer nej" inside $INTLS peer "$host"
done
for host in api.allowed.test registry.test; do
	expect 0 'issuer test CA' inside $INTLS peer "$host" "ca=$CA"
done
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 0 hello inside curl -sS --max-time 5 https://gh.test/repos/a
audit event=network_allowed host=gh.test "url=https://gh.test/repos/a" method=GET
audit event=network_allowed host=api.allowed.test url=null
verified
