#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A client that brings its own store refuses the certificate: one record that says so, nothing goes
# up, nothing is let through instead. Without inspection it works.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}, allow: h2.test]}'
for version in 1.2 1.3; do
	expect 60 'certificate' inside curl -sS --max-time 5 --tls-max $version --cacert "$CA" --capath "$E2E/www" https://gh.test/
	expect 60 'certificate' inside curl -sS --max-time 5 --tls-max $version --noproxy '*' --cacert "$CA" \
		--capath "$E2E/www" https://gh.test/
done
audit 4 event=network_blocked host=gh.test reason=inspect-unavailable 'detail=client refused our certificate'
expect 1 'failed' inside env -u NODE_EXTRA_CA_CERTS node "$E2E_SHARED/bin/fetch.js" https://gh.test/
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://h2.test/
none_world kind=http host=gh.test
verified
