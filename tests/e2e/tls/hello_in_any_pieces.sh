#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Segments of one byte, records of one byte, cuts inside the name, pauses: the verdict is the same.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
tls="$CLIENT tls $EVIL4 443"
expect 0 hello inside $tls api.allowed.test bytes=1
expect 1 '.' inside $tls evil.test bytes=1
expect 0 hello inside $tls api.allowed.test at=3 delay_ms=3000
for records in 1 2 50 100; do
	expect 0 hello inside $tls api.allowed.test "records=$records"
	expect 1 '.' inside $tls evil.test "records=$records"
done
cat >"$E2E/all.sh" <<-EOF
	for at in \$(seq 1 7 260); do
		$tls api.allowed.test at=\$at delay_ms=5 | grep -q hello || echo "allowed at \$at"
		$tls evil.test at=\$at delay_ms=5 >/dev/null && echo "evil at \$at"
	done
	echo "done"
EOF
expect 0 '^done' inside bash "$E2E/all.sh"
evil_saw_nothing
verified
