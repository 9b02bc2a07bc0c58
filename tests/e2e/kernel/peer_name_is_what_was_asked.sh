#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Programs that log or check their peer see the address they dialled, not the proxy's.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "tcp://db.test:7"]}'
expect 0 'peer 198\.1[89]\.[0-9.]+ 7' inside bash -c \
	"$CLIENT tcp \$($CLIENT names db.test 7 | tr ' ' '\n' | grep -v : | head -n 1) 7 hello"
expect 0 'hello peer f[cd][0-9a-f:]+ 7' inside bash -c \
	"$CLIENT tcp \$($CLIENT names db.test 7 | tr ' ' '\n' | grep : | head -n 1) 7 hello"
none_audit event=network_blocked
verified
