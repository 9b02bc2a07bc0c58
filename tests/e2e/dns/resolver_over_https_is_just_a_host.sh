#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Denylist: an address learned elsewhere is still decided by the name the connection carries.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, default: allow, rules: [deny: .mirror.test]}'
expect ! '' inside $CLIENT tls 151.101.64.225 443 mirror.test
expect ! '' inside $CLIENT tls 151.101.64.225 443 ''
audit event=network_blocked host=mirror.test reason=rule
audit event=network_blocked addr=151.101.64.225
none_world kind=packet dst=151.101.64.225
verified
