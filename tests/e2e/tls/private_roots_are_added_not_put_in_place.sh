#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --ca adds to the system's roots; an origin that sends no intermediate gets a 502 that says so.
. "$(dirname "$0")/../lib.sh"
cat /etc/ssl/certs/ca-certificates.crt "$CA" >"$E2E/system.pem"
export SSL_CERT_FILE=$E2E/system.pem
policy <<<'{version: 1, rules: [{allow: .bad.test, inspect: true}]}'
fetch=(curl -sSi --max-time 5)
expect 0 ' 502 .*certificate' inside "${fetch[@]}" https://untrusted.bad.test/
RUN=(--ca "$E2E_SHARED/other.pem")
expect 0 ' 200 .*hello' inside "${fetch[@]}" https://untrusted.bad.test/
expect 0 ' 200 .*hello' inside "${fetch[@]}" https://chain.bad.test/
expect 0 ' 502 .*issuer' inside "${fetch[@]}" https://no-chain.bad.test/
RUN=(--ca "$E2E/policy.yaml")
expect 2 'policy.yaml' inside true
RUN=(--ca /nowhere.pem)
expect 2 'nowhere.pem' inside true
verified
