#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Dot segments, encodings and backslashes in a URL inside TLS; what is allowed goes up as it came.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://gh.test/repos/**"]}'
cat >"$E2E/each.sh" <<-'EOF'
	for path; do
	    echo "$path: $($INTLS http1 gh.test "GET $path HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n\r\n" | head -n 1)"
	done
EOF
bad=(/repos/../admin /repos/%2e%2e/admin /repos/.%2e/admin '/repos/..;/admin' /../../admin /repos/..%2fadmin
	/repos/..%5cadmin '/repos\\..\\admin' /repos/%252e%252e/admin /repos/x/../../admin '/repos/%2e%2e%2fadmin'
	/repos/%zz/admin /repos/%c0%ae%c0%ae/../../admin '/repos/../admin?x=/repos/' /repos/%00/../../admin)
good=(/repos/a%20b /repos/caf%C3%A9 /repos/@scope%2fname '/repos/x?y=../z' '/repos/./x?a=%2e%2e&b=c//d' /%72epos/x)
output=$(inside bash "$E2E/each.sh" "${bad[@]}")
[ "$(grep -c ': HTTP/1.1 40[03]' <<<"$output")" = ${#bad[@]} ] || fail "$output"
none_world kind=http
output=$(inside bash "$E2E/each.sh" "${good[@]}")
[ "$(grep -c ': HTTP/1.1 200' <<<"$output")" = ${#good[@]} ] || fail "$output"
for path in "${good[@]}"; do
	world kind=http "path=$path"
done
none_world kind=http path=~admin
verified
