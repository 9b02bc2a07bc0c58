#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Look-alikes that anyone can register, by all four ways a name comes in.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [.pkg.test, "*.cdn.test"]]}'
code=(curl -sS --max-time 5 -o /dev/null -w '%{http_code}')
for name in evilpkg.test pkg.test.evil.test xcdn.test pkg.testing cdn.test; do
	expect 0 NXDOMAIN inside dig @8.8.8.8 "$name"
	expect ! 403 inside curl -sS --max-time 5 -k "https://$name/"
	expect 0 403 inside "${code[@]}" "http://$name/"
	expect 0 403 inside "${code[@]}" --noproxy '*' --connect-to "$name:80:$EVIL4:80" "http://$name/"
	expect ! '' inside $CLIENT tls "$EVIL4" 443 "$name"
	audit event=network_blocked "host=$name"
done
for name in pkg.test a.pkg.test a.b.pkg.test a.cdn.test a.b.cdn.test; do
	expect 0 hello inside curl -sS --max-time 5 --noproxy '*' "http://$name/"
done
evil_saw_nothing
verified
