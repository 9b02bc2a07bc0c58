#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# TLS on 8080, HTTP on 8443, HTTP on 443: classified by what is said, not by the port.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: ["api.allowed.test:8443", "api.allowed.test:8080", gh.test]]}'
fetch=(curl -sS --max-time 5 --cacert "$CA" --noproxy '*')
expect 0 hello inside "${fetch[@]}" https://api.allowed.test:8443/
expect 0 hello inside "${fetch[@]}" http://api.allowed.test:8080/
expect ! . inside "${fetch[@]}" https://api.allowed.test:8080/
expect ! . inside $CLIENT tls "$EVIL4" 80 evil.test
expect 1 . inside $CLIENT tcp "$EVIL4" 443 "SSH-2.0-x"
audit event=network_blocked port=443 "reason=~unknown-protocol|address-literal|no-name"
evil_saw_nothing
verified
