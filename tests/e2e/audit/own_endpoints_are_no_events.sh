#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What nej itself puts in the sandbox, its proxy and stub, never shows up as an attempt.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 hello inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 0 NOERROR inside dig @127.0.0.1 api.allowed.test
expect 0 NOERROR inside dig +tcp @127.0.0.1 api.allowed.test
none_audit addr=127.0.0.1
none_audit port=3128
none_audit event=network_blocked
verified
