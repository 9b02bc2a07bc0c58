#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The agent must not write tomorrow's policy.
. "$(dirname "$0")/../lib.sh"
RUN=(-u nobody)
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
chown nobody "$E2E/policy.yaml"
expect 2 'trust' inside true
"$NEJ" trust "$E2E/policy.yaml"
expect 0 '' inside true
echo '# changed' >>"$E2E/policy.yaml"
expect 2 'trust' inside true
chown root "$E2E/policy.yaml"
expect 0 '' inside true
mkdir "$E2E/open" && chmod 777 "$E2E/open"
AUDIT=$E2E/open/audit.jsonl
expect ! 'audit' inside true
