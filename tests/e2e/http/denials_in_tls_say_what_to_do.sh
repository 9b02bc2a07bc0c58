#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The right status at the right moment inside TLS: 403 with rule and reason, 502 for the origin's
# faults, and the connection stays usable.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
zone <<<'gone.pkg.test A 151.101.64.250'
policy <<-'EOF'
	version: 1
	rules:
	  - {deny: "https://gh.test/secret", note: "not for agents"}
	  - allow: GET https://gh.test/**
	  - {allow: [.pkg.test, "https://gone.pkg.test:81"], inspect: true}
EOF
expect 0 ' 403.*[Xx]-[Nn]ej-[Rr]eason: rule.*deny.*gh.test/secret' inside curl -sSi --max-time 5 https://gh.test/secret
expect 0 ' 403.*[Xx]-[Nn]ej-[Rr]eason: no-rule' inside curl -sSi --max-time 5 -d x https://gh.test/x
code=(curl -sS --noproxy '*' --max-time 5 -o /dev/null -w '%{http_code}')
expect 0 502 inside "${code[@]}" https://gone.pkg.test:81/
expect 0 502 inside "${code[@]}" https://nxdomain.pkg.test/
expect 0 403 inside "${code[@]}" https://private.pkg.test/
expect 0 '403 0.*200 0' inside curl -sS --max-time 5 -o /dev/null -o /dev/null -w '%{http_code} %{num_redirects}\n' \
	https://gh.test/secret https://gh.test/ok
within 2500 inside curl -sS --max-time 5 https://gh.test/secret
audit event=network_blocked reason=rule "url=https://gh.test/secret" status=403
audit event=network_failed reason=resolve-failed host=nxdomain.pkg.test status=502
audit event=network_blocked reason=private-address host=private.pkg.test
verified
