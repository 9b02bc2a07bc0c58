#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A banner must come by itself where a rule opens the port, and a refusal at once where none does.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "tcp://db.test:25"]}'
expect 0 '220 banner' inside bash -c "$CLIENT banner \$($CLIENT names db.test | cut -d' ' -f1) 25"
within 2500 inside $CLIENT banner "$EVIL4" 22
expect 1 '^(EACCES|EPERM)' inside $CLIENT banner "$EVIL4" 22
expect 1 '.' inside $CLIENT banner "$EVIL4" 25
within 2500 inside $CLIENT banner "$EVIL4" 25
audit event=network_allowed host=db.test port=25
audit event=network_blocked "addr=$EVIL4" port=22
audit event=network_blocked "addr=$EVIL4" port=25
evil_saw_nothing
verified
