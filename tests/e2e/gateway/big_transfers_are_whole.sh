#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tens of megabytes up and down through an HTTPS gateway, looked into (TLS in TLS), tunnelled and in clear.
. "$(dirname "$0")/../lib.sh"
zone <<<'front.test A 172.30.0.2'
tenant box <<<'{rules: [allow: [api.allowed.test, .pkg.test]]}'
install -m 600 "$E2E_SHARED/key.pem" "$E2E/key.pem"
gateway --tls-cert "$E2E_SHARED/leaf.pem" --tls-key "$E2E/key.pem"
policy <<-EOF
	upstream:
	  gate: { url: "https://front.test:3140", ca: "$CA", username: box, password: the-password-of-box }
	rules:
	  - allow: [https://api.allowed.test/upload, https://api.allowed.test/big, .pkg.test]
	    transport: upstream
EOF
RUN=(--ca "$CA")
head -c 20000000 /dev/urandom >"$E2E/up"
want="20000000 $(sha256sum "$E2E/up" | cut -c1-64)"
for url in https://api.allowed.test http://a.pkg.test 'https://a.pkg.test'; do
	trust=()
	[[ $url == https://a.pkg* ]] && trust=(--cacert "$CA")
	got=$(inside curl -sS --max-time 20 "${trust[@]}" --data-binary @- $url/upload <"$E2E/up")
	[ "$got" = "$want" ] || fail "$url/upload: $got"
	got=$(inside curl -sS --max-time 20 "${trust[@]}" "$url/big?n=20000000" | wc -c)
	[ "$got" = 20000000 ] || fail "$url/big: $got"
done
gate 6 event=network_allowed sandbox=box
verified
