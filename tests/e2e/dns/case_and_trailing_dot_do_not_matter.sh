#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The question comes back as it was asked; the rule is blind to case; one dot ends a name.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, default: allow, rules: [deny: .mirror.test]}'
expect 0 'aPi\.AlLoWeD\.tEsT\.\s+.*IN\s+A' inside dig @8.8.8.8 aPi.AlLoWeD.tEsT
for name in mirror.test mirror.test. MIRROR.Test M.mirror.TEST.; do
	expect 0 'status: NXDOMAIN' inside dig @8.8.8.8 "$name"
	expect ! '403' inside curl -sS --max-time 5 -k "https://$name/"
	expect 0 '403' inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' "http://$name/"
done
audit event=dns_blocked host=mirror.test
none_audit 'host=~[A-Z]|\.$'
expect 0 hello inside curl -sS --max-time 5 http://api.allowed.test./
none_world kind=packet dst=151.101.64.225
verified
