#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A client that ends its side inside TLS gets the whole answer; a cut answer is not a whole one;
# trailers and gzip pass.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
expect 0 whole inside $INTLS half-close gh.test 3000000
expect 0 'X-Sum: 5' inside $INTLS http1 gh.test 'GET /trailers HTTP/1.1\r\nHost: gh.test\r\nTE: trailers\r\n\r\n' sleep:300 \
	'GET /x HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n\r\n'
expect 0 'zipped hello' inside curl -sS --compressed --max-time 5 https://gh.test/gzip
expect ! 'closed|transfer|reset' inside curl -sS --max-time 5 https://gh.test/cut
none_audit event=network_blocked
verified
