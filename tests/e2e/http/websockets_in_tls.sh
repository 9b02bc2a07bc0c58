#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An unmodified WebSocket client: the server's first frame, an echo of 1 MiB, pings, close. The
# rules judge the handshake.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://gh.test/ws", allow: api.allowed.test]}'
cat >"$E2E/ws.py" <<-'EOF'
	import asyncio, sys, websockets
	async def talk(url):
	    async with websockets.connect(url, max_size=None, compression=None) as ws:
	        first = await ws.recv()
	        big = "x" * (1 << 20)
	        await ws.send(big)
	        same = await ws.recv() == big
	        await ws.send("bye")
	        print(first, same, await ws.recv())
	try:
	    asyncio.run(asyncio.wait_for(talk(sys.argv[1]), 20))
	except Exception as error:
	    print("failed", error)
EOF
expect 0 'first True bye' inside /usr/bin/python3 "$E2E/ws.py" wss://gh.test/ws
expect 0 'first True bye' inside env "SSL_CERT_FILE=$CA" /usr/bin/python3 "$E2E/ws.py" wss://api.allowed.test/ws
expect 0 'failed.*403' inside /usr/bin/python3 "$E2E/ws.py" wss://gh.test/other
frame='\x81\x83\x00\x00\x00\x00hey'
expect 0 '101.*first.*hey' inside $INTLS http1 gh.test 'GET /ws HTTP/1.1\r\nHost: gh.test\r\nUpgrade: websocket\r\n'\
'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'"$frame" until:hey
audit event=network_allowed "url=https://gh.test/ws" app=tls
verified
