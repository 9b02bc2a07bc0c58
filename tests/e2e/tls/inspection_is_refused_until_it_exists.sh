#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A rule that needs the URL inside TLS cannot be decided: refused, with the reason that says so.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "GET https://gh.test/repos/**", allow: "http://gh.test/repos/**"]}'
expect ! '' inside curl -sS --max-time 5 --cacert "$CA" https://gh.test/repos/a
expect ! '' inside curl -sS --max-time 5 --noproxy '*' --cacert "$CA" https://gh.test/repos/a
audit event=network_blocked host=gh.test reason=inspect-unavailable
expect 0 200 inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://gh.test/repos/a
none_world kind=http sni=gh.test
verified
