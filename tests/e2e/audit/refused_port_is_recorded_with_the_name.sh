#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A port no rule opens is refused in the kernel, which knows only the synthetic address: the record
# still names the host that was asked for, and suggest gives the line.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect ! '' inside ssh -o BatchMode=yes -o ConnectTimeout=3 api.allowed.test
audit event=network_blocked layer=kernel reason=no-rule host=api.allowed.test port=22
none_audit event=events_lost
expect 0 'tcp://api.allowed.test:22' "$NEJ" suggest "$AUDIT"
verified
