#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unsetting a proxy variable is no way out and no way of breaking.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
bare=(env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy)
fetch=(curl -sS --max-time 5 --cacert "$CA")
expect 0 'hello from api.allowed.test' inside "${fetch[@]}" https://api.allowed.test/
expect 0 'hello from api.allowed.test' inside "${bare[@]}" "${fetch[@]}" https://api.allowed.test/
expect 0 'hello' inside "${fetch[@]}" --noproxy '*' http://api.allowed.test/
expect ! 'not resolve' inside "${bare[@]}" "${fetch[@]}" https://evil.test/
expect ! '403' inside "${fetch[@]}" https://evil.test/
expect ! '' inside "${bare[@]}" "${fetch[@]}" --resolve "evil.test:443:$EVIL4" https://evil.test/
audit event=dns_blocked host=evil.test
audit event=network_blocked host=evil.test method=CONNECT status=403
audit event=network_blocked host=evil.test app=tls reason=no-rule
audit 3 event=network_allowed host=api.allowed.test
evil_saw_nothing
verified
