#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An answer that comes while the client still sends: nej's own refusal and the origin's are read,
# over HTTP/2 and HTTP/1.1, whatever the size of what was to be sent. (curl 7.88 may still grumble
# about the stream's end, when it has the answer.)
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: h2.test, inspect: true}, allow: "GET https://gh.test/**"]}'
cat >"$E2E/each.sh" <<-'EOF'
	dir=$(mktemp -d)
	for size in 1000 70000 3000000; do
	    head -c $size /dev/zero >"$dir/blob"
	    for how in --http1.1 --http2; do
	        for n in 1 2 3 4 5; do
	            curl -sS $how --max-time 5 -T "$dir/blob" -o /dev/null -w "%{http_code} $how $size\n" https://gh.test/x
	            curl -sS $how --max-time 5 -T "$dir/blob" -o /dev/null -w "%{http_code} $how $size\n" https://h2.test/early
	        done
	    done
	done
	true
EOF
output=$(inside bash "$E2E/each.sh" 2>&1) || fail "$output"
[ "$(grep -c '^403 ' <<<"$output")" = 30 ] && [ "$(grep -c '^413 ' <<<"$output")" = 30 ] || fail "$output"
verified
