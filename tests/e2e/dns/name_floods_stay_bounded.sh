#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Thousands of names under an allowed suffix: no question leaves, the sandbox goes on working.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: .pkg.test]}'
cat >"$E2E/flood.py" <<-'EOF'
	import socket
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.settimeout(3)
	for n in range(5000):
	    label = b"%056x" % n
	    s.sendto(b"\1\1\1\0\0\1" + b"\0" * 6 + bytes([len(label)]) + label
	             + b"\3pkg\4test\0\0\1\0\1", ("8.8.8.8", 53))
	    s.recv(600)
	print("done")
EOF
expect 0 'done.*hello' inside bash -c \
	"/usr/bin/python3 $E2E/flood.py; curl -sS --max-time 5 http://a.pkg.test/"
world 1 kind=dns type=A "name=~pkg.test"
verified
