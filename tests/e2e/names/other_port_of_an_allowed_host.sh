#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A host rule opens 443 and 80; a rule with a port opens just that pair.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, "v4.allowed.test:8080"]]}'
connect() {
	inside $CLIENT bytes 127.0.0.1 3128 "CONNECT $1 HTTP/1.1\r\nHost: $1\r\n\r\n"
}
for port in 22 5432 25 8443; do
	expect 0 '^HTTP/1.1 403' connect "api.allowed.test:$port"
	audit event=network_blocked host=api.allowed.test "port=$port" status=403
done
for authority in api.allowed.test:0 api.allowed.test:65536 api.allowed.test:443x api.allowed.test; do
	expect 0 '^HTTP/1.1 400' connect "$authority"
done
expect 0 hello inside curl -sS --max-time 5 http://v4.allowed.test:8080/
expect ! 403 inside curl -sSf --max-time 5 http://v4.allowed.test/
expect ! 403 inside curl -sSf --max-time 5 http://api.allowed.test:8080/
verified
