#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A second start under the same name while the first lives; a leftover of a dead one is taken over.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
inside sleep 40 &
eventually test -e "/sys/fs/bpf/nej/$NAME"
expect ! "$NAME" inside touch "$E2E/ran"
[ ! -e "$E2E/ran" ] || fail "the command ran"
supervisor=$(pgrep -f "run -p $E2E/policy.yaml" | head -n 1)
kill -KILL "$supervisor"
sleep 0.5
expect 0 '' inside true
audit event=adopted
verified
