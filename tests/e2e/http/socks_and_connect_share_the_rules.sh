#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# SOCKS5 on the explicit port: by name, by address, both families; UDP associate and BIND refused.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, "tcp://db.test:7"]]}'
fetch=(curl -sS --max-time 5 --cacert "$CA" --noproxy '')
expect 0 hello inside "${fetch[@]}" -x socks5h://127.0.0.1:3128 https://api.allowed.test/
expect 0 hello inside "${fetch[@]}" -x socks5h://127.0.0.1:3128 http://api.allowed.test/
expect ! . inside "${fetch[@]}" -x socks5h://127.0.0.1:3128 https://evil.test/
expect ! . inside "${fetch[@]}" -x socks5://127.0.0.1:3128 -k "https://$EVIL4/"
expect 0 $'\x05' inside $CLIENT bytes 127.0.0.1 3128 '\x05\x01\x00' '\x05\x03\x00\x01\x2d\x21\x20\x9c\x01\xbb'
audit event=network_blocked host=evil.test app=socks5
audit event=network_allowed host=api.allowed.test app=~tls
evil_saw_nothing
verified
