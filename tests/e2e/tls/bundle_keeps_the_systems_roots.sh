#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The variables name the system's roots and the sandbox's authority together: hosts that are not
# inspected verify as ever. The test CA plays a root that only the machine's own store has.
. "$(dirname "$0")/../lib.sh"
cat /etc/ssl/certs/ca-certificates.crt "$CA" >"$E2E/system.pem"
export SSL_CERT_FILE=$E2E/system.pem
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}, allow: api.allowed.test]}'
echo 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read())' >"$E2E/get.py"
for host in gh.test api.allowed.test; do
	expect 0 hello inside curl -sS --max-time 5 "https://$host/"
	expect 0 hello inside /usr/bin/python3 "$E2E/get.py" "https://$host/"
	expect 0 hello inside "$E2E_SHARED/bin/fetch-go" "https://$host/"
	expect 0 hello inside env -u SSL_CERT_FILE node --use-openssl-ca "$E2E_SHARED/bin/fetch.js" https://gh.test/
done
expect 0 '[1-9][0-9]+' inside bash -c 'grep -c BEGIN "$SSL_CERT_FILE"'
audit event=network_allowed host=gh.test "url=https://gh.test/"
verified
