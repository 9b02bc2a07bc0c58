#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A ring submits socket, connect and send without the system calls a filter looks at.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 1 '(Permission denied|not permitted|Function not)' \
	inside "$E2E_SHARED/bin/uring" "$EVIL4" 9999
expect 1 '(Permission denied|not permitted|Function not)' \
	inside "$E2E_SHARED/bin/uring" "$EVIL4" 9999 udp
evil_saw_nothing
verified
