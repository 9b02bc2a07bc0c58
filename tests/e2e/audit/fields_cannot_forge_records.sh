#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Line ends, quotes, escapes, bad UTF-8 and a whole fake record in every field a client controls.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "GET http://gh.test/ok"]}'
fake='x\"}\n{\"seq\":1,\"event\":\"network_allowed\"}\n'
end='Connection: close\r\n\r\n'
for path in '/a\x1b[2J' '/\xc2\x85\xe2\x80\xa8\xe2\x80\xae' '/\xff\xfe\xc0\xaf\xed\xa0\x80' '/"quote\\'; do
	inside $CLIENT bytes "$EVIL4" 80 "GET $path HTTP/1.1\r\nHost: gh.test\r\n$end" >/dev/null || true
done
inside $CLIENT bytes "$EVIL4" 80 "GET /x HTTP/1.1\r\nHost: $fake\r\n$end" >/dev/null || true
inside $CLIENT bytes "$EVIL4" 80 "GET /x HTTP/1.1\r\nUser-Agent: $fake\r\nHost: gh.test\r\n$end" >/dev/null || true
inside $CLIENT bytes "$EVIL4" 80 "X\"$fake / HTTP/1.1\r\nHost: gh.test\r\n$end" >/dev/null || true
inside bash -c "exec -a \$'x\n{\"seq\":2}' $CLIENT udp $EVIL4 9" || true
inside dig @8.8.8.8 'a\010b\"c\\d.evil.test' >/dev/null || true
none_audit event=network_allowed
audit event=network_blocked host=gh.test
audit event=dns_blocked
! LC_ALL=C grep -q '[^ -~]' "$AUDIT" || fail "bytes that are not printable ASCII"
/usr/bin/python3 -c 'import json, sys
for line in open(sys.argv[1]): assert isinstance(json.loads(line), dict)' "$AUDIT"
verified
