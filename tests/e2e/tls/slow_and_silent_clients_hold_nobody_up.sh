#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Many connections that say nothing, and a client that thinks for four seconds.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
cat >"$E2E/silent.py" <<-'EOF'
	import socket, subprocess, sys
	held = []
	for n in range(600):
	    s = socket.create_connection((sys.argv[1], 443), 3)
	    s.sendall(b"\x16\3\1\2\0"[:n % 6])
	    held.append(s)
	for n in range(20):
	    subprocess.run(["curl", "-sSf", "--max-time", "3", "--cacert", sys.argv[2],
	                    "https://api.allowed.test/"], check=True, stdout=subprocess.DEVNULL)
	print("fetched")
EOF
expect 0 fetched inside /usr/bin/python3 "$E2E/silent.py" "$EVIL4" "$CA"
expect 0 hello inside $CLIENT tls "$EVIL4" 443 api.allowed.test at=20 delay_ms=4000
evil_saw_nothing
verified
