// SPDX-License-Identifier: GPL-2.0-only
// An HTTPS origin for every address that speaks HTTP/2, and HTTP/1.1 unless told `only`, by ALPN.
// Arguments: the scenario's folder, the shared one, port, `only` or nothing. Writes each request to
// world.log as web.py does, with `proto`. The path says what to do. Read web.py for the HTTP/1.1 one.
const crypto = require('crypto');
const fs = require('fs');
const http2 = require('http2');
const zlib = require('zlib');

const [run, shared, port, only] = process.argv.slice(2);
const logFile = fs.openSync(`${run}/world.log`, 'a');
const log = (record) =>
	fs.writeSync(logFile, JSON.stringify({ time: Date.now() / 1000, ...record }) + '\n');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function writeDown(request, body) {
	const isHttp2 = request.httpVersionMajor === 2;
	// The compatibility layer gives an HTTP/2 request's `socket` as a proxy of the session's.
	const socket = isHttp2 ? request.stream.session.socket : request.socket;
	log({
		kind: 'http',
		proto: isHttp2 ? 'h2' : 'h1',
		dst: socket.localAddress.replace('::ffff:', ''),
		port: Number(port),
		sni: socket.servername || null,
		session: `${socket.remotePort}`,
		method: request.method,
		path: request.url,
		host: request.headers[':authority'] || request.headers.host,
		scheme: request.headers[':scheme'],
		headers: request.headers,
		names: request.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()),
		trailers: request.trailers,
		body: body.toString('latin1').slice(0, 2000),
	});
}

// Backpressure as it should be: one block after the other.
async function sendBig(response, left) {
	const block = Buffer.alloc(65536, 'x');
	while (left > 0) {
		const part = block.subarray(0, Math.min(left, block.length));
		left -= part.length;
		if (!response.write(part)) await new Promise((done) => response.once('drain', done));
	}
	response.end();
}

async function sendEvents(response, query, wrap) {
	response.writeHead(200, { 'content-type': 'text/event-stream', ...wrap.headers });
	const out = wrap.through(response);
	for (let i = 0; i < Number(query.get('n') || 5); i++) {
		out.write(`data: ${i} ${(Date.now() / 1000).toFixed(3)}\n\n`);
		if (out.flush) out.flush();
		await sleep(Number(query.get('ms') || 100));
	}
	out.end();
}

const plain = { headers: {}, through: (response) => response };
const zipped = {
	headers: { 'content-encoding': 'gzip' },
	through: (response) => {
		const gzip = zlib.createGzip();
		gzip.pipe(response);
		return gzip;
	},
};

const acts = {
	'/headers': (request, response) => response.end(JSON.stringify(request.headers) + '\n'),
	'/big': (request, response, query) => {
		response.writeHead(200, { 'content-length': query.get('n') || 1048576 });
		return sendBig(response, Number(query.get('n') || 1048576));
	},
	'/upload': (request, response, query, body, sum) =>
		response.end(`${sum.length} ${sum.sha256}\n`),
	'/sse': (request, response, query) => sendEvents(response, query, plain),
	'/sse-gzip': (request, response, query) => sendEvents(response, query, zipped),
	'/gzip': (request, response) => {
		response.writeHead(200, { 'content-encoding': 'gzip' });
		response.end(zlib.gzipSync('zipped hello\n'));
	},
	'/trailers': (request, response) => {
		response.writeHead(200, { trailer: 'x-sum' });
		response.write('hello');
		response.addTrailers({ 'x-sum': '5' });
		response.end();
	},
	'/slow': async (request, response, query) => {
		await sleep(Number(query.get('ms') || 1000));
		response.end('late\n');
	},
	'/redirect': (request, response, query) => {
		response.writeHead(302, { location: query.get('to') });
		response.end();
	},
	'/many-headers': (request, response) => {
		response.setHeader('set-cookie', ['a=1', 'b=2', 'c=3; Path=/']);
		response.setHeader('vary', ['accept', 'origin']);
		response.writeHead(200, { 'x-empty': '', 'x-odd': 'caf\u00e9; "quoted", \t tab' });
		response.end('many\n');
	},
	'/hints': (request, response) => {
		response.writeEarlyHints({ link: '</style.css>; rel=preload' });
		response.end('hinted\n');
	},
	'/no-content': (request, response) => {
		response.writeHead(204);
		response.end();
	},
	'/not-modified': (request, response) => {
		response.writeHead(304, { etag: '"x"', 'content-length': 500 });
		response.end();
	},
	'/reset': (request, response) =>
		response.stream ? response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR) : response.destroy(),
	'/goaway': (request, response) => {
		response.end('last one\n');
		if (request.stream) request.stream.session.goaway();
	},
};

async function serve(request, response) {
	if (request.url.startsWith('/early')) {
		writeDown(request, Buffer.alloc(0));
		response.writeHead(413);
		return response.end('too large\n');
	}
	const hash = crypto.createHash('sha256');
	const sum = { length: 0 };
	const parts = [];
	for await (const part of request) {
		hash.update(part);
		sum.length += part.length;
		if (sum.length < 65536) parts.push(part);
	}
	sum.sha256 = hash.digest('hex');
	const body = Buffer.concat(parts);
	writeDown(request, body);
	const url = new URL(request.url, 'https://origin');
	const act = acts[url.pathname];
	if (act) return act(request, response, url.searchParams, body, sum);
	response.end(`hello from ${request.headers[':authority'] || request.headers.host}\n`);
}

// Extended CONNECT (RFC 8441): an echo of raw bytes is enough to see that they pass.
function onConnect(stream, headers) {
	log({ kind: 'http', proto: 'h2', method: 'CONNECT', protocol: headers[':protocol'] || null,
		path: headers[':path'], host: headers[':authority'] });
	stream.respond({ ':status': 200 });
	stream.on('error', () => {});
	stream.pipe(stream);
}

const server = http2.createSecureServer({
	cert: fs.readFileSync(`${shared}/leaf.pem`),
	key: fs.readFileSync(`${shared}/key.pem`),
	allowHTTP1: only !== 'only',
	settings: { enableConnectProtocol: true },
});
server.on('request', (request, response) => {
	if (request.method !== 'CONNECT') serve(request, response).catch(() => response.destroy());
});
server.on('stream', (stream, headers) => {
	if (headers[':method'] === 'CONNECT') onConnect(stream, headers);
});
server.on('sessionError', () => {});
server.on('tlsClientError', (error) => log({ kind: 'tls-failed', port: Number(port), error: error.message }));
server.on('clientError', (error, socket) => socket.destroy());
process.on('uncaughtException', (error) => log({ kind: 'origin-error', error: String(error) }));
server.listen(Number(port), '::', () => fs.writeFileSync(`${run}/http2.ready`, ''));
