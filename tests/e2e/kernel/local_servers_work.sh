#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A dev server inside the sandbox, on both loopbacks, with the proxy variables set.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for address in 127.0.0.1 ::1; do
	host=$address && [ "$address" = ::1 ] && host='[::1]'
	expect 0 local inside bash -c "d=\$(mktemp -d); $CLIENT serve $address 3000 \$d/up &
		until [ -e \$d/up ]; do sleep 0.02; done
		curl -sS --max-time 5 http://$host:3000/"
done
expect 0 local inside bash -c "d=\$(mktemp -d); $CLIENT serve 127.0.0.1 3001 \$d/up &
	until [ -e \$d/up ]; do sleep 0.02; done; curl -sS --max-time 5 http://localhost:3001/"
none_audit event=network_blocked
none_audit event=dns_blocked
verified
