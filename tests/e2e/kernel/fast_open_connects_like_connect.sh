#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Data in the first send: no connect() call at all.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 1 '^(EACCES|EPERM)' inside $CLIENT fastopen "$EVIL4" 9999
expect ! '' inside $CLIENT fastopen "$EVIL4" 443
audit event=network_blocked "addr=$EVIL4" port=9999
audit event=network_blocked "addr=$EVIL4" port=443
evil_saw_nothing
verified
