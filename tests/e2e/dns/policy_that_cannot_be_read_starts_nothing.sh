#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Absent, unreadable, empty: refused with a reason. No rules at all: starts and denies.
. "$(dirname "$0")/../lib.sh"
expect 2 'policy.yaml' inside touch "$E2E/ran"
: >"$E2E/policy.yaml"
expect 2 'version' inside touch "$E2E/ran"
policy <<<'{version: 1, rules: [allow: a..b]}'
expect 2 'policy.yaml:1:' inside touch "$E2E/ran"
[ ! -e "$E2E/ran" ] || fail "the command ran"
for rules in '' 'rules: []' 'rules: []  # only a remark'; do
	policy <<<"version: 1
$rules"
	expect ! '' inside curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
done
audit event=network_blocked host=api.allowed.test
none_world kind=http
