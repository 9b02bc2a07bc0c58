#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Allowed and denied requests on one HTTP/2 connection: each stream has its own verdict and record,
# a denied one does not disturb the others.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: ["GET https://h2.test/repos/**", "POST https://h2.test/upload"]]}'
inside node "$E2E_SHARED/bin/streams.js" https://h2.test /repos/a /other POST:/upload DELETE:/repos/a /repos/b \
	/repos/../other GET:/upload >"$E2E/out"
for line in '/repos/a 200 hello' '/repos/b 200 hello' 'POST:/upload 200 5 ' '/other 403 ' 'DELETE:/repos/a 403 ' \
	'GET:/upload 403 ' '/repos/../other 403 '; do
	grep -qF "$line" "$E2E/out" || fail "no $line: $(cat "$E2E/out")"
done
! grep -q 'failed\|goaway' "$E2E/out" || fail "$(cat "$E2E/out")"
world 3 kind=http proto=h2
none_world kind=http method=DELETE
none_world kind=http path=/other
audit event=network_blocked method=DELETE "url=https://h2.test/repos/a" status=403
audit 2 event=network_allowed method=GET "url=~/repos/[ab]$"
verified
