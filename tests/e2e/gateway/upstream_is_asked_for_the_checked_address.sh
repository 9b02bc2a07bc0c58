#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A rule's forward proxy gets CONNECT with the address that was checked, its credentials and the name;
# what leads inside is refused before it is asked; other rules go straight.
. "$(dirname "$0")/../lib.sh"
forward serve
policy <<-EOF
	upstream: { corp: { url: "http://127.0.0.1:3140", username: jo, password: secret } }
	rules:
	  - { allow: .pkg.test, transport: upstream }
	  - allow: api.allowed.test
EOF
expect 0 hello inside curl -sS --max-time 5 -4 --cacert "$CA" https://a.pkg.test/
expect 0 hello inside curl -sS --max-time 5 -4 http://a.pkg.test/
expect 0 hello inside curl -sS --max-time 5 -4 --cacert "$CA" https://api.allowed.test/
expect 0 '403 private-address' inside curl -sS --max-time 5 -o /dev/null \
	-w '%{http_code} %header{x-nej-reason}' http://private.pkg.test/
expect ! '' inside curl -sS --max-time 5 https://evil.test/
forwarded "line=CONNECT $PKG4:443 HTTP/1.1" "host=$PKG4:443" user=jo:secret name=a.pkg.test:443
forwarded "target=$PKG4:80" name=a.pkg.test:80
none_forwarded name=~allowed
none_forwarded name=~private
world kind=http sni=a.pkg.test
audit event=network_allowed host=a.pkg.test app=tls
audit event=network_blocked host=private.pkg.test reason=private-address
evil_saw_nothing
verified
