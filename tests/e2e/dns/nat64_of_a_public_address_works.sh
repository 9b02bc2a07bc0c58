#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A network that has IPv6 only maps public IPv4 addresses; that is not a private address.
. "$(dirname "$0")/../lib.sh"
zone <<-EOF
	six.pkg.test A
	six.pkg.test AAAA 64:ff9b::5db8:d822
EOF
policy <<<'{version: 1, rules: [allow: .pkg.test]}'
expect 0 hello inside curl -sS --max-time 5 http://six.pkg.test/
world kind=http dst=64:ff9b::5db8:d822
verified
