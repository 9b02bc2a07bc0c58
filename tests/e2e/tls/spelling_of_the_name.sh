#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Upper case and a final dot are the same name; an address is no name.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test, allow: "*"]}'
expect 0 hello inside $CLIENT tls "$EVIL4" 443 API.Allowed.Test
cat >"$E2E/sni.py" <<-'EOF'
	import os, socket, struct, sys
	def hello(name):
	    sni = struct.pack("!HHBH", 0, len(name) + 5, len(name) + 3 >> 8, 0)[:4] + struct.pack(
	        "!HBH", len(name) + 3, 0, len(name)) + name
	    body = b"\3\3" + b"r" * 32 + b"\0" + b"\0\2\x13\1" + b"\1\0" + struct.pack("!H", len(sni)) + sni
	    return b"\x16\3\1" + struct.pack("!H", len(body) + 4) + b"\1\0" + struct.pack("!H", len(body)) + body
	for name in sys.argv[2:]:
	    with socket.create_connection((sys.argv[1], 443), 5) as s:
	        s.sendall(hello(name.encode()))
	        s.settimeout(5)
	        data = s.recv(100)
	        print(name, "refused" if not data or data[0] == 21 else "answered")
EOF
output=$(inside /usr/bin/python3 "$E2E/sni.py" "$EVIL4" 1.2.3.4 10.0.0.5 ::1 2130706433 'a b.test' 'x..y')
[ "$(grep -c refused <<<"$output")" = 6 ] || fail "$output"
none_world kind=dns "name=~^[0-9]"
evil_saw_nothing
verified
