#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tens of thousands of refused calls: folded with exact counts, the machine and the log stay usable.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
cat >"$E2E/flood.py" <<-'EOF'
	import socket, sys
	refused = 0
	for n in range(20000):
	    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	    try: s.sendto(b"x", (sys.argv[1], 1 + n % 4))
	    except OSError: refused += 1
	    s.close()
	print("refused", refused)
EOF
expect 0 'refused 20000' inside /usr/bin/python3 "$E2E/flood.py" "$EVIL4"
audit 20000 event=network_blocked proto=udp reason=udp
[ "$(wc -l <"$AUDIT")" -lt 2000 ] || fail "$(wc -l <"$AUDIT") records"
evil_saw_nothing
verified
