#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Thousands of tunnels held open; the next fetch works and so does the one after the storm.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, "tcp://db.test:7"]]}'
cat >"$E2E/storm.py" <<-'EOF'
	import resource, socket, subprocess, sys
	resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
	limit = min(1500, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
	held = []
	for n in range(limit):
	    s = socket.create_connection(("127.0.0.1", 3128), 5)
	    if n % 2:
	        s.sendall(b"CONNECT api.allowed.test:443 HTTP/1.1\r\nHost: api.allowed.test:443\r\n\r\n")
	        assert b" 200 " in s.recv(200) or n > 1000
	    held.append(s)
	def fetch():
	    return subprocess.run(["curl", "-sSf", "--max-time", "3", "http://api.allowed.test/"]).returncode
	print(fetch())
	for s in held: s.close()
	print(fetch())
EOF
expect 0 '0.*0' inside /usr/bin/python3 "$E2E/storm.py"
verified
