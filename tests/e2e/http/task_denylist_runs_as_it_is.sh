#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A task's file in place of a policy: blocked URLs are prefixes of characters, whatever case, scheme
# and www., blocked hosts go with all below them; refusals and records name the task's own lines.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<-'EOF'
	---
	sandbox:
	  network_mode: denylist
	  blocked_urls:
	    - https://paper.test/abs/2401.12345
	    - www.gh.test/org/paper-code/
	  blocked_hosts: [mirror.test]
	---
	Do it; don't read it: that's all.
EOF
cat >"$E2E/each.sh" <<-'EOF'
	want=$1 && shift
	for url; do
	    for how in --http1.1 --http2 "-X POST"; do
	        got=$(curl -sS --path-as-is -m 9 -o /dev/null -w '%{http_code}' $how "$url" 2>&1)
	        [ "$got" = "$want" ] || echo "$got not $want: $how $url"
	    done
	done
	echo ended
EOF
p=paper.test
expect 0 '^ended.$' inside bash "$E2E/each.sh" 403 https://$p/abs/2401.12345 http://$p/abs/2401.12345 \
	https://www.$p/abs/2401.12345 https://$p/ABS//2401.12345 https://$p/abs/2401.123456 https://$p/abs/2401.12345v2/x \
	https://$p/abs%2f2401.12345 https://gh.test/Org/Paper-Code https://gh.test/org/paper-codex "https://$p/abs/2401.12345?x"
none_world kind=http "path=~2401.12345|paper-code"
expect 0 '^ended.$' inside bash "$E2E/each.sh" 200 https://$p/abs/2401.12344 https://$p/ https://sub.$p/abs/2401.12345 \
	https://gh.test/org/paper https://notmirror.test/
expect 0 'issuer test CA' inside $INTLS peer sub.$p "ca=$CA"
expect ! . inside curl -sS --noproxy '*' -m 5 https://m.mirror.test/
expect 0 'blocked_hosts: mirror.test' inside curl -sS --max-time 5 http://mirror.test:8080/
audit event=dns_blocked host=m.mirror.test reason=rule
expect 0 'line 5: blocked_urls: https://paper.test/abs/2401.12345' inside curl -sS https://$p/abs/2401.12345
verified
