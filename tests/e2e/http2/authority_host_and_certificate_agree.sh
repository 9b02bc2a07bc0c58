#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# :authority and host, both, none, another name or port: one name goes up, or nothing does.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: [gh.test, h2.test], inspect: true}, allow: api.allowed.test]}'
cat >"$E2E/each.sh" <<-'EOF'
	for fields; do echo "$fields => $($INTLS http2 h2.test $fields 2>&1 | tr '\n' ' ')"; done
EOF
get=':method=GET :scheme=https'
bad=("$get :authority=evil.test :path=/b" "$get :authority=gh.test :path=/b" "$get :authority=h2.test :path=/b host=evil.test"
	"$get :authority=h2.test:8443 :path=/b" "$get :authority=x@h2.test :path=/b" "$get :authority= :path=/b" "$get :path=/b"
	"$get :authority=h2.test :authority=evil.test :path=/b" "$get :authority=h2.test :path=/b host=h2.test host=evil.test"
	"$get :authority=h2.test :path=https://evil.test/b" "$get :path=/b host=evil.test" "$get :authority=[h2.test] :path=/b"
	':method=CONNECT :authority=evil.test:443' ':method=CONNECT :authority=h2.test:443')
good=("$get :authority=H2.test:443 :path=/ok" "$get :path=/ok host=h2.test" "$get :authority=h2.test :path=/ok host=h2.test")
output=$(inside bash "$E2E/each.sh" "${bad[@]}" "${good[@]}")
[ "$(grep -cE '=> .*(: 4[0-9]{2}|reset|goaway)' <<<"$output")" = ${#bad[@]} ] || fail "$output"
[ "$(grep -c '=> .*1: 200' <<<"$output")" = ${#good[@]} ] || fail "$output"
world 3 kind=http "path=/ok" "host=~^(h2|H2).test(:443)?$"
none_world kind=http path=~/b
none_world kind=http method=CONNECT
audit event=network_blocked reason=host-mismatch host=h2.test
evil_saw_nothing
verified
