#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An origin that thinks: no timeout of our own in between.
# timeout: 60
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, "tcp://db.test:7"]]}'
expect 0 late inside curl -sS --max-time 30 --cacert "$CA" 'https://api.allowed.test/slow?ms=12000'
expect 0 late inside curl -sS --max-time 30 'http://api.allowed.test/slow?ms=12000'
none_audit event=network_blocked
verified
