#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Dot segments, encodings and backslashes that an origin might resolve once more.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "GET http://gh.test/repos/**"]}'
get() {
	inside $CLIENT bytes "$EVIL4" 80 "GET $1 HTTP/1.1\r\nHost: gh.test\r\nConnection: close\r\n\r\n"
}
for path in /repos/../admin /repos/%2e%2e/admin /repos/.%2e/admin '/repos/..;/admin' /../../admin \
	/repos/..%2fadmin /repos/..%5cadmin '/repos\\..\\admin' /repos/%252e%252e/admin \
	/repos/x/../../admin '/repos/%2e%2e%2fadmin' '/repos/../admin?x=/repos/'; do
	expect 0 '^HTTP/1.1 4' get "$path"
done
for path in /repos/a%20b /repos/caf%C3%A9 /repos/@scope%2fname '/repos/x?y=../z'; do
	expect 0 '^HTTP/1.1 200' get "$path"
	world kind=http "path=$path"
done
none_world kind=http path=~admin
verified
