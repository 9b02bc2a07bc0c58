#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whoever looks for a secret inside finds its placeholder: in the environment, in copies the caller
# had, in the command's own words, in /proc, on the stacks of programs; not in the source's file.
. "$(dirname "$0")/../lib.sh"
TOKEN=ghp_$(openssl rand -hex 18)
FILED=filed-$(openssl rand -hex 12)
export TOKEN COPY="Bearer $TOKEN"
echo "$FILED" >"$E2E/filed"
chmod 644 "$E2E/filed" # readable outside: masked inside all the same
policy <<EOT
rules: [allow: gh.test]
secrets:
  GH: { env: TOKEN, for: [gh.test] }
  PART: { file: $E2E/filed, for: [gh.test] }
  MADE: { command: [/usr/bin/printf, 'made-%s-value', by], for: [gh.test] }
EOT
RUN=(--ca "$CA" -u nobody)
look="/usr/bin/python3 $E2E_SHARED/bin/look.py"
expect 0 'looked at [1-9]' inside $look "$(rev <<<"$TOKEN")" "$(rev <<<"$FILED")" eulav-yb-edam
expect 1 'found in .*environ.*stack' inside env "X=$(rev <<<olleh-olleh)" $look olleh-olleh
expect 0 'Bearer ghp_' inside sh -c 'echo "$COPY"; exit "${TOKEN:+1}0"'
expect 0 'ghp_' inside sh -c 'echo "$0"' "$TOKEN"
expect ! 'ermission denied' inside cat "$E2E/filed"
expect 0 'can be read by the sandbox.s user nobody outside' inside true
for value in "$TOKEN" "$FILED" made-by-value; do
	inside sh -c 'cat /proc/*/environ /proc/*/cmdline; env; echo "$0"' "$value" >"$E2E/out" 2>&1 || true
	! grep -aq "$value" "$AUDIT" "$E2E/out" || fail "$value was seen"
done
verified
