#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A full disk: what cannot be recorded does not pass, unless the policy says so.
. "$(dirname "$0")/../lib.sh"
mkdir "$E2E/small"
mount -t tmpfs -o size=64k,mode=755 none "$E2E/small"
AT_END+=("umount -l $E2E/small")
AUDIT=$E2E/small/audit.jsonl
fill="for i in \$(seq 400); do curl -s -o /dev/null --max-time 2 http://h\$i.evil.test/; done
	curl -s -o /dev/null -w '%{http_code}' --max-time 3 http://api.allowed.test/"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect ! '' inside bash -c "$fill | grep -q 200"
rm -f "$E2E"/small/*
policy <<<'{version: 1, audit: {on_failure: continue}, rules: [allow: api.allowed.test]}'
expect 0 '200' inside bash -c "$fill"
rm -f "$E2E"/small/*
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 'hello' inside curl -sS --max-time 5 http://api.allowed.test/
