#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Methods and paths of one host: https transparent, through CONNECT and SOCKS, http on every way.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: ["GET,HEAD https://gh.test/repos/**", "GET,HEAD http://gh.test/repos/**"]]}'
cat >"$E2E/each.sh" <<-'EOF'
	for way in "--noproxy *" "--proxytunnel" "--max-time 5" "-x socks5h://127.0.0.1:3128"; do
	    set -f
	    for scheme in http https; do
	        for want in "200 GET /repos/a" "200 GET /repos/a?x=/../y&x=%2f" "403 POST /repos/a" "403 DELETE /repos/a" \
	            "403 GET /other" "400 get /repos/a" "403 PROPFIND /repos/a"; do
	            read -r code method path <<<"$want"
	            got=$(curl -sS --max-time 5 -o /dev/null -w '%{http_code}' $way -X "$method" "$scheme://gh.test$path" 2>&1)
	            [ "$got" = "$code" ] || echo "$got not $code: $way $scheme $method $path"
	        done
	    done
	done
	echo ended
EOF
expect 0 '^ended.$' inside bash "$E2E/each.sh"
audit event=network_blocked host=gh.test method=POST "url=https://gh.test/repos/a" status=403
none_world kind=http "method=~POST|DELETE|PROPFIND|get"
none_world kind=http path=/other
world 8 kind=http "path=/repos/a?x=/../y&x=%2f"
verified
