#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A host whose resolver answers from 198.18.0.0/15: refused with the range named, unless granted.
. "$(dirname "$0")/../lib.sh"
zone <<-EOF
	tun.pkg.test A 198.18.0.7
	tun.pkg.test AAAA
EOF
policy <<<'{version: 1, rules: [allow: .pkg.test]}'
expect 0 'private-address.*198\.18' inside curl -sSi --max-time 5 http://tun.pkg.test/
policy <<<'{version: 1, private: [198.18.0.0/15], rules: [allow: .pkg.test]}'
expect 0 hello inside curl -sS --max-time 5 http://tun.pkg.test/
expect ! . inside curl -sSf --max-time 5 http://198.18.200.7/
verified
