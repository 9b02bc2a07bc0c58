#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# First match wins, both ways, and the record names the rule that decided.
. "$(dirname "$0")/../lib.sh"
code=(curl -sS --max-time 5 -o /dev/null -w '%{http_code}')
policy <<<'{version: 1, rules: [allow: a.pkg.test, deny: .pkg.test, allow: "*"]}'
expect 0 200 inside "${code[@]}" http://a.pkg.test/
expect 0 403 inside "${code[@]}" http://b.pkg.test/
expect 0 200 inside "${code[@]}" http://api.allowed.test/
audit event=network_blocked host=b.pkg.test reason=rule "rule=~deny"
policy <<<'{version: 1, rules: [allow: "*", deny: .pkg.test, allow: a.pkg.test]}'
expect 0 200 inside "${code[@]}" http://b.pkg.test/
policy <<<'{version: 1, rules: [deny: "*", allow: api.allowed.test]}'
expect 0 403 inside "${code[@]}" http://api.allowed.test/
expect 0 'warning.*shadow|never' "$NEJ" check "$E2E/policy.yaml"
verified
