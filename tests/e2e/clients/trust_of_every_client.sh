#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Clients of every family against an inspected host, with nothing set by hand: they find the
# sandbox's authority by variable or in the system's store.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
url=https://gh.test/x
echo 'import sys, requests; print(requests.get(sys.argv[1], timeout=5).text)' >"$E2E/by_requests.py"
echo 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read())' >"$E2E/by_urllib.py"
echo 'require "open-uri"; puts URI.open(ARGV[0]).read' >"$E2E/get.rb"
echo '<?php echo file_get_contents($argv[1]);' >"$E2E/get.php"
echo 'use LWP::UserAgent; my $r = LWP::UserAgent->new->get(@ARGV); print $r->status_line, $r->content;' >"$E2E/get.pl"
for client in "curl -sS --max-time 5" "wget -qO- --timeout=5 --tries=1" "node $E2E_SHARED/bin/fetch.js" \
	"$E2E_SHARED/bin/fetch-go" "/usr/bin/python3 $E2E/by_urllib.py" "/usr/bin/python3 $E2E/by_requests.py" \
	"ruby $E2E/get.rb" "php $E2E/get.php" "perl $E2E/get.pl"; do
	expect 0 'hello from gh.test' inside $client "$url"
	world kind=http path=/x sni=gh.test
done
expect 0 '/x 200 hello' inside node "$E2E_SHARED/bin/streams.js" https://gh.test /x
expect 0 'Verification: OK|Verify return code: 0' inside openssl s_client -connect gh.test:443 -verify_return_error
none_audit event=network_failed
verified
