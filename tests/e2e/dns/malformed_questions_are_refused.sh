#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two questions, odd labels, loops: the judge and a forwarder would read different names.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
cat >"$E2E/odd.py" <<-'EOF'
	import socket
	name, tail = b"\3api\7allowed\4test\0", b"\0\1\0\1"
	def head(flags=0x100, questions=1): return b"\1\1" + flags.to_bytes(2, "big") + \
	    questions.to_bytes(2, "big") + b"\0" * 6
	rows = [head(questions=2) + name + tail + b"\4evil\4test\0" + tail, head(0x8100) + name + tail,
	    head() + b"\3a.b\4evil\0" + tail, head() + b"\3a\0b\4evil\0" + tail,
	    head() + b"\x41abc\0" + tail, head() + b"\xc0\x0c" + tail, head() + b"\xc0\xff" + tail,
	    head() + (b"\x3f" + b"x" * 63) * 5 + b"\0" + tail, head() + name, head(0x2900) + name + tail]
	for row in rows:
	    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
	        s.settimeout(0.3)
	        s.sendto(row, ("8.8.8.8", 53))
	        try: print(s.recv(600)[3] & 15)
	        except TimeoutError: print("dropped")
EOF
output=$(inside /usr/bin/python3 "$E2E/odd.py")
[ "$(grep -cE '^([1-5]|dropped)$' <<<"$output")" = 10 ] || fail "$output"
expect 0 'NOERROR' inside dig @8.8.8.8 api.allowed.test
none_world kind=dns
audit event=dns_blocked "reason=~framing|malformed-host"
verified
