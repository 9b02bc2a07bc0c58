#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A secret without a usable value is an error that names it and its source, before anything starts.
. "$(dirname "$0")/../lib.sh"
refused() {
	policy <<<"secrets: { T: { $1, for: [gh.test] } }"
	expect 2 "secret T cannot be read: $2" inside touch "$E2E/ran"
}
export BROKEN=$'two\nlines' EMPTY='' FINE=long-enough-value
refused 'env: NOT_SET' 'variable NOT_SET: it is not set'
refused 'env: EMPTY' 'variable EMPTY: it is empty'
refused 'env: BROKEN' 'variable BROKEN: it has more than one line'
refused 'file: /nowhere' 'file /nowhere: No such file'
refused 'command: [/bin/false]' 'command /bin/false: it ended with status 1'
refused 'command: [/bin/sleep, "60"]' 'command /bin/sleep: it did not end within 10 s'
refused 'env: FINE, sign: aws-v4, key_id: NOT_SET' 'its key_id, variable NOT_SET: it is not set'
[ ! -e "$E2E/ran" ] && [ ! -e "$AUDIT" ] || fail "something started"
