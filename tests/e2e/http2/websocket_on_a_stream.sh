#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# RFC 8441: an extended CONNECT on an HTTP/2 connection is a websocket to an origin of HTTP/1.1,
# beside other streams; the rules judge it as the GET it is; another protocol is refused.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: ["GET https://gh.test/ws", "GET https://gh.test/x"]]}'
cat >"$E2E/ws.js" <<-'EOF'
	const http2 = require('http2');
	const session = http2.connect('https://gh.test');
	const text = (s) => Buffer.concat([Buffer.from([0x81, 0x80 | s.length, 0, 0, 0, 0]), Buffer.from(s)]);
	const ask = (fields, frames, until) => new Promise((done) => {
	  const stream = session.request({ ':scheme': 'https', ':authority': 'gh.test', ...fields }, { endStream: !frames });
	  let status, got = Buffer.alloc(0);
	  const end = () => { console.log(fields[':path'], status, got.toString('latin1').replace(/[^ -~]/g, '')); stream.close(); done(); };
	  stream.on('response', (h) => { status = h[':status']; if (frames && status === 200) for (const f of frames) stream.write(f); });
	  stream.on('data', (d) => { got = Buffer.concat([got, d]); if (until && got.includes(until)) end(); });
	  stream.on('error', (e) => { status = e.code; end(); });
	  stream.on('end', () => { if (!until || !got.includes(until)) end(); });
	});
	const ws = { ':method': 'CONNECT', ':protocol': 'websocket', 'sec-websocket-version': '13' };
	session.on('remoteSettings', async (settings) => {
	  console.log('connect protocol', settings.enableConnectProtocol);
	  await Promise.all([ask({ ...ws, ':path': '/ws' }, [text('hey'), text('you')], 'you'), ask({ ':path': '/x' })]);
	  await ask({ ...ws, ':path': '/other' }, []);
	  await ask({ ...ws, ':protocol': 'connect-udp', ':path': '/ws' }, []);
	  session.close();
	});
	EOF
inside node "$E2E/ws.js" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
for line in 'connect protocol true' '/ws 200 first.*hey.*you' '/x 200 hello' '/other 403' '/ws 400'; do
	grep -q "^$line" "$E2E/out" || fail "no $line: $(cat "$E2E/out")"
done
world kind=http path=/ws method=GET
audit event=network_allowed "url=https://gh.test/ws" method=GET app=tls
audit event=network_blocked "url=https://gh.test/other" method=GET status=403
audit event=network_blocked reason=framing status=400
verified
