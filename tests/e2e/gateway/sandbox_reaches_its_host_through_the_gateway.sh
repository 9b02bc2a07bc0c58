#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# run, the gateway as its forward proxy, the origin: by name at both, with the address checked at both,
# HTTPS, plain HTTP and a server that speaks first; one record at each.
. "$(dirname "$0")/../lib.sh"
tenant box <<<'{rules: [allow: [api.allowed.test, .pkg.test, "tcp://db.test:25"]]}'
gateway
policy <<-EOF
	upstream: { gate: { url: "http://172.30.0.2:3140", username: box, password: the-password-of-box } }
	rules:
	  - { allow: [api.allowed.test, .pkg.test, evil.test, "tcp://db.test:25"], transport: upstream }
EOF
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 0 hello inside curl -sS --max-time 5 http://a.pkg.test/
expect 0 '220 banner' inside bash -c "$CLIENT banner \$($CLIENT names db.test | cut -d' ' -f1) 25"
expect 0 'answered 403: no-rule.* 502' inside curl -sS --max-time 5 -w ' %{http_code}' http://evil.test/
audit 1 event=network_allowed host=api.allowed.test layer=proxy
gate 1 event=network_allowed host=api.allowed.test layer=gateway sandbox=box rule.line=1
gate 1 event=network_allowed host=a.pkg.test layer=gateway sandbox=box app=http
gate 1 event=network_allowed host=db.test layer=gateway sandbox=box
gate 1 event=network_blocked host=evil.test reason=no-rule sandbox=box status=403
audit 1 event=network_failed host=evil.test reason=upstream-refused
world kind=http sni=api.allowed.test
evil_saw_nothing
verified
AUDIT=$E2E/gateway.jsonl verified
