#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# CONNECT one name, say another in the hello; and no name at all.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: [api.allowed.test, .pkg.test]]}'
for sni in evil.test a.pkg.test ''; do
	expect 1 '.' inside $CLIENT tls 127.0.0.1 3128 "$sni" proxy=api.allowed.test:443
done
audit 2 event=network_blocked reason=host-mismatch
audit event=network_blocked reason=no-name host=api.allowed.test
expect 0 hello inside $CLIENT tls 127.0.0.1 3128 api.allowed.test proxy=api.allowed.test:443
expect 0 '^HTTP/1.1 (200|403).*' inside $CLIENT bytes 127.0.0.1 3128 \
	'GET http://api.allowed.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n'
none_world kind=http host=evil.test
world 1 kind=http sni=api.allowed.test
verified
