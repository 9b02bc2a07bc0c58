#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Not 80 and 443 alone. The ports of nej's own listeners are numbers like any other.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for port in 22 25 3000 5432 8080 65535 3128 3129 4053 853; do
	expect 1 '^(EACCES|EPERM)' inside $CLIENT tcp "$EVIL4" "$port"
	expect 1 '^(EACCES|EPERM)' inside $CLIENT tcp "$EVIL6" "$port"
	audit event=network_blocked "addr=$EVIL4" "port=$port" proto=tcp
done
expect ! '' inside $CLIENT tcp "$EVIL4" 443
expect ! "" inside curl -sSf --max-time 5 http://api.allowed.test:8080/
audit event=network_blocked port=8080
none_world kind=http
evil_saw_nothing
verified
