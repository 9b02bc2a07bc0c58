#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# default: allow with a denied URL: every spelling an origin might answer, over HTTP/1.1 and HTTP/2,
# whatever the method; the neighbours are reachable, and no other host is inspected.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<-'EOF'
	version: 1
	default: allow
	rules:
	  - deny: ["https://paper.test/abs/2401.12345", "http://paper.test/abs/2401.12345", mirror.test]
EOF
cat >"$E2E/each.sh" <<-'EOF'
	want=$1
	shift
	for url; do list+=(-o /dev/null "$url"); done
	for how in --http1.1 --http2 "-X POST" "-I" "-r 0-9"; do
	    curl -sS --path-as-is --max-time 9 $how -w "$how %{http_code} %{url_effective}\\n" "${list[@]}" 2>&1 |
	        grep -v " $want "
	done
	echo ended
EOF
p=https://paper.test
expect 0 '^ended.$' inside bash "$E2E/each.sh" 403 $p/abs/2401.12345 $p//abs/2401.12345 $p/abs//2401.12345 \
	$p/abs/2401%2E12345 $p/abs/%32401.12345 "$p/abs/2401.12345;v=2" "$p/abs/2401.12345?x=1" $p/abs/2401.12345/ \
	$p/x/../abs/2401.12345 $p/abs/./2401.12345 $p/abs%2f2401.12345 https://PAPER.TEST/abs/2401.12345 \
	https://paper.test:443/abs/2401.12345 http://paper.test/abs/2401.12345 $p/abs/2401.12345/v2 $p/abs/%252e/2401.12345
none_world kind=http host=~paper
expect 0 '^ended.$' inside bash "$E2E/each.sh" 200 $p/abs/2401.12344 $p/abs/2401.123456 $p/abs/2401.12345v2 \
	$p/pdf/2401.12345 $p/ABS/2401.12345 "$p/?u=/abs/2401.12345"
expect 0 'issuer test CA' inside $INTLS peer api.allowed.test "ca=$CA"
expect 0 'issuer nej' inside $INTLS peer paper.test
expect ! . inside curl -sS --max-time 5 https://mirror.test/
audit event=network_blocked host=paper.test reason=rule "url=https://paper.test/abs/2401.12345" method=POST
verified
