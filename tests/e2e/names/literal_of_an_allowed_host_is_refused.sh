#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The address of a shared edge serves everyone; a bare address is decided as one.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect ! '' inside $CLIENT tls 127.0.0.1 3128 api.allowed.test "proxy=$OK4:443"
expect ! '403' inside curl -sS --max-time 5 -k "https://$EVIL4/"
expect ! '403' inside curl -sS --max-time 5 -k "https://$OK4/"
expect ! '' inside curl -sS --max-time 5 -k --noproxy '*' "https://$OK4/"
expect ! '' inside curl -sS --max-time 5 -k --noproxy '*' --resolve "evil.test:443:$EVIL4" https://evil.test/
audit event=network_blocked reason=address-literal "host=$OK4"
none_world kind=packet proto=6
evil_saw_nothing
verified
