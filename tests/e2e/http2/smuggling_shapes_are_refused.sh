#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Fields that HTTP/2 forbids or that turn into something else in HTTP/1.1, to an HTTP/1.1 origin.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
cat >"$E2E/each.sh" <<-'EOF'
	post=":method=POST :scheme=https :authority=gh.test"
	ask() { echo "$* => $($INTLS http2 gh.test "$@" 2>&1 | tr '\n' ' ')"; }
	for field in 'transfer-encoding=chunked' 'connection=close' 'upgrade=h2c' 'content-length=3' 'content-length=50' \
	    'x=a\r\nevil: 1' 'x=a\nevil: 1' 'x=a\x00' 'x\r\nevil=1' 'X-Upper=1' ':bogus=1' 'x y=1' 'x:y=1' '=1' \
	    'content-length=5\r\n\r\nGET /evil HTTP/1.1' 'te=gzip' ':status=200'; do
	    ask $post :path=/evil "$field" data=hello
	done
	ask $post ':path=/evil HTTP/1.1\r\nx: y' data=hello
	ask $post ':path=/evil x' data=hello
	ask $post ':path=/evil\x00' data=hello
	ask $post :path=evil data=hello
	ask $post :path= data=hello
	ask $post :path=/evil :path=/other data=hello
	ask $post 'x=1' :path=/evil data=hello
	ask ':method=GET /evil HTTP/1.1\r\nx' :scheme=https :authority=gh.test :path=/
	ask ':method=GET' :scheme=ftp :authority=gh.test :path=/evil
EOF
output=$(inside bash "$E2E/each.sh")
[ "$(grep -cE '=> .*(: 4[0-9][0-9]|reset|goaway|EOF|Error)' <<<"$output")" = "$(wc -l <<<"$output")" ] ||
	fail "$(grep -vE '=> .*(: 4[0-9][0-9]|reset|goaway|EOF|Error)' <<<"$output")"
none_world kind=http
expect 0 '1: 200 5 ' inside $INTLS http2 gh.test :method=POST :scheme=https :authority=gh.test :path=/upload data=hello
verified
