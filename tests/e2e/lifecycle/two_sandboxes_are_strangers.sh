#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Same names, same ports, two policies; neither sees the other's loopback or rules.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside $CLIENT serve 127.0.0.1 3000 /tmp/"$ID"-up &
eventually test -e /tmp/"$ID"-up
NAME=$NAME-b AUDIT=$E2E/b.jsonl
policy <<<'{version: 1, rules: [allow: .pkg.test]}'
expect 1 '^ECONNREFUSED' inside $CLIENT tcp 127.0.0.1 3000 x
expect 0 403 inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://api.allowed.test/
expect 0 200 inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://a.pkg.test/
expect 0 . "$NEJ" status
rm -f /tmp/"$ID"-up
verified
