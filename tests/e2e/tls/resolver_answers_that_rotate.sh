#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The stub's answer and the proxy's own need not be equal: the proxy dials its own.
. "$(dirname "$0")/../lib.sh"
zone <<-EOF
	turn.pkg.test A $PKG4|151.101.64.230|151.101.64.231|151.101.64.232
	turn.pkg.test AAAA
EOF
policy <<<'{version: 1, dns: resolve, rules: [allow: .pkg.test]}'
expect 0 "done" inside bash -c 'for i in $(seq 30); do
	curl -sSf --max-time 5 --noproxy "*" http://turn.pkg.test/ >/dev/null || exit 1; done; echo done'
none_audit event=network_blocked
verified
