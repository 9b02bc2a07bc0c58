#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The last records, the last half record, everything, or an older copy: verify says so, and the
# next start does not go on as if nothing had been.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
for n in 1 2 3; do
	inside $CLIENT udp "$EVIL4" "100$n" || true
done
verified
cp "$AUDIT" "$E2E/whole"
lines=$(wc -l <"$AUDIT")
for keep in $((lines - 1)) $((lines - 3)) 0; do
	head -n "$keep" "$E2E/whole" >"$AUDIT"
	expect 1 '[0-9]' "$NEJ" verify "$AUDIT"
done
head -c -20 "$E2E/whole" >"$AUDIT"
expect 1 . "$NEJ" verify "$AUDIT"
sed '3s/100/101/' "$E2E/whole" >"$AUDIT"
cmp -s "$AUDIT" "$E2E/whole" && sed '3s/e/f/' "$E2E/whole" >"$AUDIT"
expect 1 '3' "$NEJ" verify "$AUDIT"
head -n $((lines - 2)) "$E2E/whole" >"$AUDIT"
inside true
audit event=audit_gap
