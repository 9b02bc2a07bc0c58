#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Wrong in one way each: a 502 that says which, no request written, no way to switch it off inside.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: .bad.test, inspect: true}]}'
cat >"$E2E/all.sh" <<-'EOF'
	for kind in "$@"; do
	    echo "$kind: $(curl -sSi --suppress-connect-headers --max-time 5 "https://$kind.bad.test/secret" 2>&1 | tr -d '\r' | tr '\n' ' ')"
	done
EOF
bad=(self-signed untrusted expired not-yet wrong-name wrong-usage constrained)
output=$(inside bash "$E2E/all.sh" "${bad[@]}" chain)
for kind in "${bad[@]}"; do
	grep -qE "^$kind: HTTP/[12.]+ 502 .*(certificate|verif)" <<<"$output" || fail "$kind: $output"
	audit event=network_failed "host=$kind.bad.test" reason=upstream-refused status=502
done
grep -qE '^expired: .*expired' <<<"$output" || fail "$output"
grep -qE '^wrong-name: .*(name|host)' <<<"$output" || fail "$output"
grep -qE '^chain: HTTP/[12.]+ 200' <<<"$output" || fail "$output"
expect 0 ' 502 ' inside env SSL_CERT_FILE=/dev/null NODE_TLS_REJECT_UNAUTHORIZED=0 curl -ksSi --suppress-connect-headers --max-time 5 \
	https://self-signed.bad.test/secret
none_world kind=http "sni=~^(self-signed|untrusted|expired|not-yet|wrong-|constrained)"
world 1 kind=http path=/secret
verified
