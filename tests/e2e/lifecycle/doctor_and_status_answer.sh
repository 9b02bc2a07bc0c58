#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What this machine has and lacks, nf_tables among what is not needed; and the sandboxes that run.
. "$(dirname "$0")/../lib.sh"
expect 0 'nf_tables' "$NEJ" doctor
expect 0 '^\{|^\[' "$NEJ" doctor --json
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside sleep 20 &
eventually test -e "/sys/fs/bpf/nej/$NAME"
expect 0 "$NAME" "$NEJ" status
expect 0 "$NAME" "$NEJ" status --json
expect 0 'HTTPS_PROXY|https_proxy' "$NEJ" env "$NAME"
expect 0 '"(seq|flags|abi)"' bpftool map dump pinned "/sys/fs/bpf/nej/$NAME/settings"
expect ! '' "$NEJ" status no-such-sandbox
