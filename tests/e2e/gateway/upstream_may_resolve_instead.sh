#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `connect: name`: the forward proxy is asked for the name, and nobody here resolves it.
. "$(dirname "$0")/../lib.sh"
forward 403
policy <<-EOF
	upstream:
	  corp: { url: "http://127.0.0.1:3140", username: jo, password: secret, connect: name }
	rules: [{ allow: .pkg.test, transport: upstream }]
EOF
expect ! 'response 502' inside curl -sS --max-time 5 https://a.pkg.test/
forwarded "line=CONNECT a.pkg.test:443 HTTP/1.1" host=a.pkg.test:443 name=null
none_world kind=dns name=a.pkg.test
verified
