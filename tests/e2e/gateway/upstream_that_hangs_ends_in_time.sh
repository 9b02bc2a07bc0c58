#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A forward proxy that takes the connection and never answers: 504 after the dialler's limit.
. "$(dirname "$0")/../lib.sh"
forward hang
policy <<-EOF
	upstream: { corp: { url: "http://127.0.0.1:3140", username: jo, password: secret } }
	rules: [{ allow: api.allowed.test, transport: upstream }]
EOF
expect 0 'corp.*does not answer in time.* 504' inside curl -sS --max-time 25 -w ' %{http_code}' \
	http://api.allowed.test/
audit event=network_failed reason=upstream-refused status=504
verified
