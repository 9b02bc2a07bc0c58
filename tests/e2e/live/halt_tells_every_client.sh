#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hundreds of connections that carry data when the halt comes, some of it dropped on its way in: each
# client is told that its own has ended, and none waits for ever.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "tcp://v4.allowed.test:7"]}'
cat >"$E2E/pour.py" <<-'EOF'
	import select, socket, time
	socks = [socket.create_connection(("v4.allowed.test", 7)) for _ in range(300)]
	poll, left = select.poll(), {s.fileno(): s for s in socks}
	for s in socks:
	    poll.register(s, select.POLLIN)
	    s.send(b"m" * 64)
	print("open", flush=True)
	end = time.monotonic() + 6
	while left and time.monotonic() < end:
	    for fd, _ in poll.poll(100):
	        try:
	            data = left[fd].recv(4096)
	            left[fd].send(data or b"m")
	        except OSError:
	            data = b""
	        if not data:
	            poll.unregister(fd)
	            del left[fd]
	print("left", len(left), flush=True)
	time.sleep(1)
EOF
for round in 1 2 3 4; do
	inside /usr/bin/python3 "$E2E/pour.py" >"$E2E/out" 2>&1 &
	run=$!
	eventually grep -q open "$E2E/out"
	sleep 0.5
	expect 0 'halted, 300 connections ended' "$NEJ" halt "$NAME"
	eventually grep -q left "$E2E/out"
	grep -q 'left 0' "$E2E/out" || fail "round $round: $(cat "$E2E/out")"
	wait "$run" || true
done
verified
