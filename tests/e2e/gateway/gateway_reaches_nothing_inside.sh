#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Loopback, metadata, private and the gateway's own addresses, as literals and behind names, whatever
# the policy says; host_ports opens nothing here.
. "$(dirname "$0")/../lib.sh"
zone <<-EOF
	meta.pkg.test A 169.254.169.254
	loop.pkg.test A 127.0.0.1
	own.pkg.test A 172.30.0.2
	mixed.pkg.test A $PKG4
	mixed.pkg.test AAAA ::1
EOF
tenant box <<-EOF
	private: allow
	host_ports: [3140, 8080]
	rules: [allow: ["*:*", "0.0.0.0/0:*", "[::]/0:*"]]
EOF
gateway
on_host /usr/bin/python3 -m http.server -b 127.0.0.1 8080 >/dev/null 2>&1 &
for host in 127.0.0.1:8080 localhost:8080 '[::1]:8080' 0.0.0.0:8080 2130706433:8080 loop.pkg.test:8080 \
	169.254.169.254 '[fe80::1]' meta.pkg.test 172.30.0.2:3140 own.pkg.test:3140 224.0.0.1 \
	127.0.0.1.nip.io:8080 mixed.pkg.test '[::ffff:127.0.0.1]:8080' '[64:ff9b::7f00:1]:8080'; do
	expect 0 '^403 (loopback|private-address|multicast)' at_gateway box -o /dev/null \
		-w '%{http_code} %header{x-nej-reason}' "http://$host/"
	expect 56 'response 403' at_gateway box -p "http://$host/"
done
expect 56 'response 403' at_gateway box -p --proxy-header 'X-Nej-Name: own.pkg.test:443' \
	http://1.1.1.1:443/
expect 0 hello at_gateway box http://a.pkg.test/
none_gate event=network_allowed host=~^127
AUDIT=$E2E/gateway.jsonl verified
