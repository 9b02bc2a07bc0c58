#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The client's HTTP/2 to an origin that has HTTP/1.1 alone, HTTP/1.1 to one that has HTTP/2 alone.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin only
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: ["gh.test:8443", h2.test], inspect: true}]}'
head -c 5000000 /dev/urandom >"$E2E/blob"
sum=$(sha256sum <"$E2E/blob" | cut -d' ' -f1)
for host in gh.test:8443 h2.test; do
	for how in --http1.1 --http2; do
		expect 0 hello inside curl -sS $how --max-time 5 "https://$host/x"
		expect 0 "5000000 $sum" inside curl -sS $how --max-time 20 -T "$E2E/blob" "https://$host/upload"
		expect 0 '^4000000' inside curl -sS $how -o /dev/null -w '%{size_download}' "https://$host/big?n=4000000"
	done
	expect 0 '[Xx]-[Ss]um: 5' inside curl -sSv --http2 --max-time 5 "https://$host/trailers"
done
world kind=http port=443 proto=h2 sni=h2.test
none_audit event=network_blocked
verified
