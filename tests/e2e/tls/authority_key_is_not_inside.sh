#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# No private key in any file, variable or process the sandbox can see; each sandbox has an authority
# of its own, which another does not trust.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
cat >"$E2E/hunt.sh" <<-'EOF'
	curl -sS --max-time 5 https://gh.test/ >/dev/null
	{
	    env
	    find "$(dirname "$SSL_CERT_FILE")" "$HOME" /tmp /run -xdev -type f -size -1000k -readable \
	        -exec cat {} + 2>/dev/null
	    cat /proc/[0-9]*/environ 2>/dev/null
	} | grep -acE 'PRIVATE[ ]KEY'
	ps ax | grep -c '[n]ej'
	cat "$SSL_CERT_FILE" >"$1"
EOF
: >"$E2E/first.pem" && chmod 666 "$E2E/first.pem"
expect 0 $'^0\n0\n$' inside bash "$E2E/hunt.sh" "$E2E/first.pem"
grep -q BEGIN "$E2E/first.pem" || fail "no bundle"
expect 60 'certificate' inside curl -sS --max-time 5 --cacert "$E2E/first.pem" --capath "$E2E/www" \
	https://gh.test/
expect 0 hello inside curl -sS --max-time 5 https://gh.test/
verified
