// SPDX-License-Identifier: GPL-2.0-only
// Node's HTTP/2 client: `streams.js ORIGIN [METHOD:]PATH...` asks for all paths at once on one
// session and prints a line each: path, status, body, trailers. Read fetch.js for HTTP/1.1.
const http2 = require('http2');

const [origin, ...words] = process.argv.slice(2);
const session = http2.connect(origin);
session.on('error', (error) => console.log('session', error.code || error.message));
session.on('goaway', (code) => console.log('goaway', code));

function ask(word) {
	const [, method, path] = /^(?:([A-Z]+):)?(.*)$/.exec(word);
	const stream = session.request({ ':path': path, ':method': method || 'GET' });
	let status, trailers = {}, body = '';
	if (method && !/GET|HEAD|DELETE/.test(method)) stream.end('hello');
	stream.setEncoding('latin1');
	stream.on('response', (headers) => (status = headers[':status']));
	stream.on('trailers', (fields) => (trailers = { ...fields }));
	stream.on('data', (part) => (body += part));
	stream.on('error', (error) => console.log(word, 'failed', error.code));
	return new Promise((done) => stream.on('close', () => {
		const shown = body.length > 200 ? body.length : body.trim();
		if (status) console.log(word, status, shown, JSON.stringify(trailers));
		done();
	}));
}

Promise.all(words.map(ask)).then(() => process.exit());
