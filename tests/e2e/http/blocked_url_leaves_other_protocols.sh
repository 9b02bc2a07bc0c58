#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A host with a blocked URL: what is no HTTP still works there (a server that speaks first, too),
# and the URL is blocked on every port, in clear and over TLS.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<-'EOF'
	sandbox: {network_mode: denylist, blocked_urls: [paper.test/abs/1]}
EOF
expect 0 '220 banner' inside bash -c "$CLIENT banner \$($CLIENT names paper.test | cut -d' ' -f1) 25"
code() { inside curl -sS --noproxy '*' -m 9 -o /dev/null -w '%{http_code}' "$@"; }
expect 0 '^403' code http://paper.test:8080/abs/12
expect 0 '^200' code http://paper.test:8080/abs/2
expect 0 '^403' code https://paper.test:8443/abs/12
audit event=network_blocked host=paper.test port=8080 "url=http://paper.test:8080/abs/12" status=403
none_world kind=http path=/abs/12
verified
