#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The gateway speaks HTTPS: run through it, curl through it, plain HTTP gets nothing. Another certificate
# is taken up on SIGHUP while connections go on; a key others may read starts nothing.
. "$(dirname "$0")/../lib.sh"
zone <<<'front.test A 172.30.0.2'
tenant box <<<'{rules: [allow: [api.allowed.test, .pkg.test]]}'
cp "$E2E_SHARED/leaf.pem" "$E2E/cert.pem"
install -m 600 "$E2E_SHARED/key.pem" "$E2E/key.pem"
gateway --tls-cert "$E2E/cert.pem" --tls-key "$E2E/key.pem"
policy <<-EOF
	upstream:
	  gate: { url: "https://front.test:3140", ca: "$CA", username: box, password: the-password-of-box }
	rules: [{ allow: [api.allowed.test, .pkg.test], transport: upstream }]
EOF
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 0 hello inside curl -sS --max-time 5 http://a.pkg.test/
gate event=network_allowed host=api.allowed.test sandbox=box app=tls
gate event=network_allowed host=a.pkg.test sandbox=box app=http
over_tls() {
	on_host curl -sS --max-time 9 --proxy-cacert "$1" --resolve front.test:3140:172.30.0.2 \
		-x https://box:the-password-of-box@front.test:3140 "${@:2}"
}
expect 0 '3000000' over_tls "$CA" -o /dev/null -w '%{size_download}' 'http://a.pkg.test/big?n=3000000'
expect 0 '403 no-rule' over_tls "$CA" -o /dev/null -w '%{http_code} %header{x-nej-reason}' http://evil.test/
expect 0 hello over_tls "$CA" --cacert "$CA" https://api.allowed.test/
expect ! '' at_gateway box http://api.allowed.test/
over_tls "$CA" -N 'http://a.pkg.test/sse?n=10&ms=200' >"$E2E/slow" &
slow=$!
eventually grep -q data: "$E2E/slow"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=front.test \
	-addext subjectAltName=DNS:front.test -keyout "$E2E/key.pem" -out "$E2E/cert.pem" 2>/dev/null
kill -HUP "$GATEWAY"
eventually over_tls "$E2E/cert.pem" http://a.pkg.test/
wait $slow && [ "$(grep -c data: "$E2E/slow")" = 10 ] || fail "the new certificate cut a connection"
kill "$GATEWAY" && wait "$GATEWAY"
chmod 644 "$E2E/key.pem"
expect 125 'readable by others' on_host "$NEJ" gateway --listen 172.30.0.2:3140 --policies "$E2E/policies" \
	--audit "$E2E/gateway.jsonl" --tls-cert "$E2E/cert.pem" --tls-key "$E2E/key.pem"
AUDIT=$E2E/gateway.jsonl verified
