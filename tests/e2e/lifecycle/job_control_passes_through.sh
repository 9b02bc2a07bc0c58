#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A shell with job control inside, the whole of nej as one job outside, Ctrl-C once, window sizes.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
expect 0 'ok' on_host /usr/bin/python3 "$E2E_SHARED/bin/jobs.py" \
	"$NEJ" run -p "$E2E/policy.yaml" -n "$NAME" --audit "$AUDIT" --
verified
