#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A session of one host is no session of another, and no request is read before the handshake ends.
# (Tickets come with the first answer.)
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: [gh.test, h2.test], inspect: true}]}'
cat >"$E2E/resume.sh" <<-'EOF'
	dir=$(mktemp -d)
	printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' gh.test >"$dir/early"
	for version in -tls1_2 -tls1_3; do
	    s() { (cat "$dir/early"; sleep 0.3) | openssl s_client $version -verify_return_error "$@" 2>&1; }
	    s -connect gh.test:443 -servername gh.test -sess_out "$dir/s" >"$dir/first"
	    echo "$version same $(s -connect gh.test:443 -servername gh.test -sess_in "$dir/s" | grep -cE '^Reused')"
	    echo "$version other $(s -connect h2.test:443 -servername h2.test -sess_in "$dir/s" | grep -cE '^Reused')"
	    echo "$version mixed $(s -connect gh.test:443 -servername h2.test -sess_in "$dir/s" | grep -cE '^Reused')"
	done
	openssl s_client -tls1_3 -connect gh.test:443 -servername gh.test -ign_eof -sess_out "$dir/s" <"$dir/early" >"$dir/e" 2>&1
	echo "early $(openssl s_client -tls1_3 -connect gh.test:443 -servername gh.test -sess_in "$dir/s" \
	    -early_data "$dir/early" </dev/null 2>&1 | grep -c 'Early data was accepted')"
EOF
output=$(inside bash "$E2E/resume.sh")
for version in -tls1_2 -tls1_3; do
	for line in "$version same 1" "$version other 0" "$version mixed 0" 'early 0'; do
		grep -qxe "$line" <<<"$output" || fail "no $line: $output"
	done
done
verified
