#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A tunnel is byte-transparent: the origin sees the client's own handshake, also with a client
# certificate, and its certificate is the one the client checks.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 'issuer: CN=test CA' inside curl -sSv --max-time 5 --cacert "$CA" https://api.allowed.test/
expect ! 'certificate' inside curl -sS --max-time 5 https://api.allowed.test/
world kind=http sni=api.allowed.test
verified
