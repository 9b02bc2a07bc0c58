#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What each client prints when a URL inside TLS is denied: fast, with the reason, no retries.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://gh.test/ok/**"]}'
echo 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read())' >"$E2E/get.py"
url=https://gh.test/no
expect 0 'nej.*gh.test/no' inside curl -sS --max-time 5 $url
expect 8 '403' inside wget -O - --timeout=5 --tries=3 $url
expect 1 '403' inside /usr/bin/python3 "$E2E/get.py" $url
expect 0 '403.*nej' inside node "$E2E_SHARED/bin/fetch.js" $url
expect 0 '403' inside "$E2E_SHARED/bin/fetch-go" $url
expect 128 '403' inside git ls-remote $url
expect ! '403' inside env HOME=/tmp npm_config_cache=/tmp/npm-"$ID" npm_config_update_notifier=false npm \
	--registry https://gh.test/ view no version
rm -rf "/tmp/npm-$ID"
within 2500 inside curl -sS --max-time 5 $url
audit 8 event=network_blocked host=gh.test status=403
none_world kind=http
verified
