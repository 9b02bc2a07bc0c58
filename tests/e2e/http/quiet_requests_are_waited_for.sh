#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An origin that thinks: no timeout of our own in between, in clear, in a tunnel, inside TLS.
# timeout: 60
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: api.allowed.test, {allow: gh.test, inspect: true}]}'
cat >"$E2E/wait.sh" <<-'EOF'
	get() { curl -sS --max-time 30 --cacert "$SSL_CERT_FILE" "$1/slow?ms=12000" & }
	get http://api.allowed.test
	get https://api.allowed.test
	get https://gh.test
	wait
EOF
expect 0 '^(late.){3}$' inside bash "$E2E/wait.sh"
none_audit event=network_blocked
verified
