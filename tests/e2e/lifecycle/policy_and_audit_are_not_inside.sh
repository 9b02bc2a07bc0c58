#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the sandboxed program does not find: the policy, the audit log and its key.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test] }  # secretword'
for user in nobody daemon; do
	RUN=(-u "$user")
	expect ! '' inside grep -q secretword "$E2E/policy.yaml"
	expect ! '' inside sh -c "echo x >>$AUDIT"
	expect 0 '^[0-9]\s*$' inside sh -c 'ls /proc | grep -c "^[0-9]"'
	expect 0 none inside sh -c 'grep -l nej /proc/[0-9]*/comm /proc/[0-9]*/cmdline 2>/dev/null | \
		grep -v "/self/\|/$$/" | xargs -r cat | grep -a worker; echo none'
done
verified
