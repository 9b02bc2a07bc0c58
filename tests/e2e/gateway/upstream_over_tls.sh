#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A forward proxy spoken to in TLS, believed by its own `ca`: tunnels, requests in clear and looked-into
# TLS (TLS in TLS) work; one whose certificate does not hold gets neither request nor password.
. "$(dirname "$0")/../lib.sh"
zone <<<'proxy.corp.test A 127.0.0.1'
forward serve "$E2E_SHARED"
cp "$CA" "$E2E/proxy-ca.pem"
policy <<-EOF
	private: deny
	upstream:
	  corp: { url: "https://front.test:3140", ca: proxy-ca.pem, username: jo, password: secret }
	rules:
	  - { allow: [.pkg.test, GET https://gh.test/a], transport: upstream }
EOF
zone <<<'front.test A 127.0.0.1'
RUN=(--ca "$CA")
expect 0 hello inside curl -sS --max-time 5 -4 --cacert "$CA" https://a.pkg.test/
expect 0 hello inside curl -sS --max-time 5 http://a.pkg.test/
expect 0 'hello.* 403' inside bash -c 'curl -sS --max-time 5 https://gh.test/a &&
	curl -sS --max-time 5 -o /dev/null -w " %{http_code}" https://gh.test/b'
expect 0 '^3000000' inside bash -c 'curl -sS --max-time 9 http://a.pkg.test/big?n=3000000 | wc -c'
forwarded name=a.pkg.test:443 user=jo:secret
forwarded name=gh.test:443
world kind=http sni=gh.test path=/a
sed -i '/ca: /s/ca: proxy-ca.pem, //' "$E2E/policy.yaml"
RUN=()
: >"$E2E/forward.log"
expect 0 'certificate that does not hold.* 502' inside curl -sS --max-time 5 -w ' %{http_code}' \
	http://a.pkg.test/
none_forwarded user=~.
verified
