#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What Python 3.13, OpenSSL's strict mode, Go and Java look at: key identifiers, the alternative
# name alone, critical constraints, a validity that clocks agree on, serial numbers of their own.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: [gh.test, h2.test, "93.184.216.34/32"], inspect: true}]}'
cat >"$E2E/look.sh" <<-'EOF'
	look() {
	    openssl s_client -connect "$1" $2 -showcerts </dev/null 2>/dev/null |
	        awk -v out="$3" '/BEGIN CERT/ { n++; p = 1 } p { print >(out "." n) } /END CERT/ { p = 0 }'
	    openssl verify -x509_strict -purpose sslserver -CAfile "$SSL_CERT_FILE" "$3.1"
	    openssl x509 -in "$3.1" -noout -text -serial -checkend 3600
	}
	dir=$(mktemp -d)
	look gh.test:443 '-servername gh.test' "$dir/gh"
	look h2.test:443 '-servername h2.test' "$dir/h2"
	look 93.184.216.34:443 '-noservername' "$dir/ip"
	openssl x509 -in "$NODE_EXTRA_CA_CERTS" -noout -text | sed 's/^/authority /'
	begin=$(openssl x509 -in "$dir/gh.1" -noout -startdate | cut -d= -f2)
	echo "began $(($(date +%s) - $(date -d "$begin" +%s))) s ago"
EOF
output=$(inside bash "$E2E/look.sh") || fail "$output"
[ "$(grep -c ': OK$' <<<"$output")" = 3 ] || fail "$output"
for text in 'Authority Key Identifier' 'Subject Key Identifier' 'DNS:gh.test' 'DNS:h2.test' \
	'IP Address:93.184.216.34' 'authority .*Basic Constraints: critical' 'authority .*Key Usage: critical' \
	'authority .*Subject Key Identifier' 'TLS Web Server Authentication'; do
	grep -q "$text" <<<"$output" || fail "no $text: $output"
done
! grep -E 'Subject:.*(gh|h2).test' <<<"$output" || fail "a name in the subject"
[ "$(grep '^serial=' <<<"$output" | sort -u | wc -l)" = 3 ] || fail "serial numbers: $output"
began=$(sed -n 's/^began \(.*\) s ago$/\1/p' <<<"$output")
[ "$began" -ge 300 ] || fail "valid only since $began s"
verified
