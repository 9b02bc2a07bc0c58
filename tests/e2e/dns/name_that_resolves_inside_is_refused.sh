#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An allowed name must not turn the proxy into a bridge to private, local or metadata addresses.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: .pkg.test]}'
n=0
for address in 127.0.0.1 0.0.0.0 10.0.0.5 100.64.0.1 169.254.169.254 192.168.1.1 224.0.0.1 \
	198.18.0.7 172.30.0.2 ::1 fe80::1 fc00::1 ::ffff:10.0.0.5 ::10.0.0.5 64:ff9b::a00:5 \
	2002:a00:5::1 64:ff9b:1::a00:5 fec0::1; do
	n=$((n + 1))
	kind=A && [[ $address == *:* ]] && kind=AAAA
	echo "n$n.pkg.test $kind $address" >>"$E2E/more"
done
# One bad address among good ones refuses them all.
echo "mixed.pkg.test A $PKG4,10.0.0.5" >>"$E2E/more"
zone <"$E2E/more"
names=$(seq -f 'n%g' $n)
for name in $names mixed; do
	echo "for p in --noproxy --proxy-header; do curl -sS --max-time 4 -o /dev/null \$p x: \
		-w '$name %{http_code}\n' http://$name.pkg.test/ 2>&1; done"
done >"$E2E/all.sh"
output=$(inside bash "$E2E/all.sh" 2>&1) || true
for name in $names mixed; do
	grep -q "^$name 403" <<<"$output" || fail "$name: $output"
	audit event=network_blocked "host=$name.pkg.test" reason=private-address
done
none_world kind=http
verified
