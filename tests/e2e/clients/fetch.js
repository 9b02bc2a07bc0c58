// SPDX-License-Identifier: GPL-2.0-only
// Fetches a URL with Node's built-in fetch and prints status and body, or the cause of the failure.
fetch(process.argv[2])
	.then(async (reply) => console.log(reply.status, (await reply.text()).trim()))
	.catch((error) => {
		console.log('failed', error.cause ? error.cause.code || error.cause.message : error.message);
		process.exit(1);
	});
