#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Public wildcard zones give every address a name; vendors' own zones are caught after resolving.
. "$(dirname "$0")/../lib.sh"
zone <<-EOF
	*.nip.io A $PKG4
	*.sslip.io A $PKG4
	10-0-0-5.abc.pkg.test A 10.0.0.5
	v1-2-3-4.pkg.test A $PKG4
EOF
policy <<<'{version: 1, default: allow, rules: []}'
for name in 127.0.0.1.nip.io 10-0-0-5.sslip.io 7f000001.nip.io app.10.0.0.5.nip.io; do
	expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 "$name"
	expect 0 403 inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' "http://$name/"
	none_world kind=dns "name=$name"
done
expect 0 403 inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://10-0-0-5.abc.pkg.test/
expect 0 hello inside curl -sS --max-time 5 http://v1-2-3-4.pkg.test/
verified
