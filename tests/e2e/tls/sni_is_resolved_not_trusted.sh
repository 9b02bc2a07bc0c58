#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An allowed name sent to an attacker's address: the proxy dials the name's own address.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 'hello' inside $CLIENT tls "$EVIL4" 443 api.allowed.test
expect 0 'hello' inside $CLIENT tls "$EVIL6" 443 api.allowed.test
expect 0 'hello' inside curl -sS --max-time 5 --noproxy '*' \
	--connect-to "api.allowed.test:80:$EVIL4:80" http://api.allowed.test/
world 3 kind=http "dst=~^($OK4|$OK6)$"
evil_saw_nothing
verified
