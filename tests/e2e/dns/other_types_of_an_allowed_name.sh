#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# SRV, MX and TXT of an allowed name come from outside; what they name is a name like any other.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 'v=allowed' inside dig +short @8.8.8.8 api.allowed.test TXT
expect 0 '10 mail\.allowed\.test' inside dig +short @8.8.8.8 api.allowed.test MX
expect 0 '1 2 443 api\.allowed\.test' inside dig +short @8.8.8.8 api.allowed.test SRV
expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 mail.allowed.test
for kind in NULL TYPE65280 CAA; do
	expect 0 'status: (NOERROR|NOTIMP)' inside dig @8.8.8.8 api.allowed.test "$kind"
done
expect 0 'status: (NXDOMAIN|NOERROR|REFUSED|NOTIMP)' inside dig @8.8.8.8 -x "$EVIL4"
none_world kind=dns type=PTR
none_world kind=dns type=ANY
verified
