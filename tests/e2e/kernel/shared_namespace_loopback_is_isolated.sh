#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --net=host: the host's loopback is not the sandbox's, except for the ports named in host_ports.
. "$(dirname "$0")/../lib.sh"
RUN=(--net=host)
for port in 3000 3001; do
	on_host $CLIENT serve 127.0.0.1 "$port" "$E2E/up$port" &
	wait_for "$E2E/up$port"
done
policy <<<'{version: 1, host_ports: [3001], rules: [allow: api.allowed.test]}'
expect 1 '^(EACCES|EPERM|ECONNREFUSED)' inside $CLIENT tcp 127.0.0.1 3000 hi
expect 1 '^(EACCES|EPERM|ECONNREFUSED)' inside $CLIENT tcp 0.0.0.0 3000 hi
expect 1 '^(EACCES|EPERM|ECONNREFUSED)' inside $CLIENT tcp ::ffff:127.0.0.1 3000 hi
audit event=network_blocked reason=loopback port=3000
expect 0 'local' inside $CLIENT tcp 127.0.0.1 3001 hi
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 1 '^(EACCES|EPERM)' inside $CLIENT udp "$EVIL4" 9999
expect ! '' inside $CLIENT tcp "$EVIL4" 443
evil_saw_nothing
verified
