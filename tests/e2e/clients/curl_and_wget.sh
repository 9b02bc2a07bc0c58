#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# With and without proxy variables; a denied one in under a second, naming the rule.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [deny: mirror.test, allow: api.allowed.test]}'
for bare in "env" "env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY -u all_proxy -u ALL_PROXY"; do
	for url in http://api.allowed.test/ https://api.allowed.test/; do
		expect 0 hello inside $bare curl -sS --cacert "$CA" --max-time 5 "$url"
		expect 0 hello inside $bare wget -q -O - --ca-certificate="$CA" --timeout=5 --tries=1 "$url"
	done
	within 2500 inside $bare curl -sS --max-time 5 https://mirror.test/
	within 2500 inside $bare wget -q -O - --timeout=5 --tries=1 https://mirror.test/
done
expect 0 'deny: mirror.test' inside curl -sS --max-time 5 http://mirror.test/
expect 8 '403' inside wget -O - --timeout=5 --tries=1 http://mirror.test/
verified
