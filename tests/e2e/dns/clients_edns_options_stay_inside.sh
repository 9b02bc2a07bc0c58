#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What goes out is built anew: client subnet, cookies and padding of the question do not leave.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, dns: resolve, rules: [allow: api.allowed.test]}'
hex=$(printf %s "$CANARY" | od -An -tx1 | tr -d ' \n')
expect 0 NOERROR inside dig @8.8.8.8 +ednsopt="65001:$hex" api.allowed.test TXT
world kind=dns name=api.allowed.test type=TXT
none_world kind=canary
verified
