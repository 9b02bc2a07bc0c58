#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Headless Chromium has a store of its own: the manual's one command puts the authority there, then
# pages load over HTTP/2, scripts' fetches are judged, and without it the failure is recorded.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://h2.test/ok/**"]}'
cat >"$E2E/browse.sh" <<-'EOF'
	export HOME=$(mktemp -d)
	if [ "$1" = trusting ]; then
	    mkdir -p "$HOME/.pki/nssdb"
	    certutil -N -d "sql:$HOME/.pki/nssdb" --empty-password
	    certutil -A -d "sql:$HOME/.pki/nssdb" -t C,, -n nej -i "$NODE_EXTRA_CA_CERTS"
	fi
	timeout 20 chromium-headless-shell --headless --no-sandbox --disable-gpu --dump-dom "$2" 2>&1
	rm -rf "$HOME"
EOF
expect 0 'hello from h2.test' inside bash "$E2E/browse.sh" trusting https://h2.test/ok/x
expect 0 'nej|403|no rule' inside bash "$E2E/browse.sh" trusting https://h2.test/no
world kind=http proto=h2 path=/ok/x "headers.user-agent=~Chrome"
inside bash "$E2E/browse.sh" bare https://h2.test/ok/y >"$E2E/out" || true
audit event=network_blocked host=h2.test "detail=client refused our certificate"
none_world kind=http path=/ok/y
none_world kind=http path=/no
verified
