#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Method and path rules for a host in clear: explicit, transparent, through CONNECT to port 80.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "GET http://gh.test/repos/**"]}'
code=(curl -sS --max-time 5 -o /dev/null -w '%{http_code}')
for way in "--noproxy *" "--proxytunnel" "--max-time 5"; do
	set -f
	# shellcheck disable=SC2086
	for request in "200 GET /repos/a" "403 POST /repos/a" "403 DELETE /repos/a" "403 GET /other"; do
		read -r want method path <<<"$request"
		expect 0 "$want" inside "${code[@]}" $way -X "$method" "http://gh.test$path"
	done
	set +f
done
audit event=network_blocked host=gh.test method=POST "url=~/repos/a"
none_world kind=http method=POST
none_world kind=http method=DELETE
none_world kind=http path=/other
verified
