#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Denylist: an alias chain that ends in a denied name. The question decides; the proxy's own lookup
# then dials what the alias leads to, so a deny rule must name the alias too or the addresses differ.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, default: allow, dns: resolve, rules: [deny: .mirror.test]}'
expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 cdn.mirror.test
expect 0 'status: (NXDOMAIN|NOERROR)' inside dig @8.8.8.8 innocent.test
expect ! '' inside curl -sS --max-time 5 -k https://cdn.mirror.test/
verified
