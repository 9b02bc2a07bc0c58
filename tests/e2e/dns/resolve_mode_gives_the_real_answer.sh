#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# dns: resolve, with a truncated big answer, and what the resolver's troubles become.
. "$(dirname "$0")/../lib.sh"
zone <<<"big.pkg.test A $(seq -s , -f '151.101.65.%g' 60)"
policy <<<'{version: 1, dns: resolve, rules: [allow: [api.allowed.test, .pkg.test]]}'
expect 0 "$OK4" inside dig +short @8.8.8.8 api.allowed.test
expect 0 "$OK6" inside dig +short @8.8.8.8 api.allowed.test AAAA
expect 0 'hello' inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 0 '151\.101\.65\.60' inside dig +short @8.8.8.8 big.pkg.test
expect 0 'flags: [a-z ]*tc' inside dig +ignore +bufsize=512 @8.8.8.8 big.pkg.test
expect 0 'ANSWER: 60' inside dig +tcp @8.8.8.8 big.pkg.test
expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 nxdomain.pkg.test
expect 0 'status: SERVFAIL' inside dig @8.8.8.8 servfail.pkg.test
expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 evil.test
none_world kind=dns name=evil.test
verified
