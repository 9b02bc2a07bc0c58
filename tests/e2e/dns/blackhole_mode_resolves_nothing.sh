#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Only the explicit proxy is left, and it works.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, dns: blackhole, rules: [allow: api.allowed.test]}'
expect ! '' inside getent hosts api.allowed.test
expect 0 'hello' inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect ! '' inside curl -sS --max-time 5 --noproxy '*' http://api.allowed.test/
verified
