#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Frames in the handshake's segment, the server's first frame, events one by one, half-close.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, "tcp://db.test:7", "tcp://db.test:9000"]]}'
expect 0 'first.*hey' inside $CLIENT websocket api.allowed.test 80 hey
expect 0 'data: 0.*data: 9' inside curl -sSN --max-time 9 'http://api.allowed.test/sse?n=10&ms=50'
cat >"$E2E/sse.py" <<-'EOF'
	import time, urllib.request
	late = [time.time() - float(line.split()[2]) for line in urllib.request.urlopen(
	    "http://api.allowed.test/sse?n=10&ms=100") if line.startswith(b"data")]
	print(len(late), "prompt" if max(late) < 0.05 else late)
EOF
expect 0 '10 prompt' inside /usr/bin/python3 "$E2E/sse.py"
expect 0 '1003 bye' inside $CLIENT half-close db.test 7
expect 0 'done' inside $CLIENT half-open db.test 9000
world kind=half total=10000
none_audit event=network_blocked
verified
