#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hellos that offer TLS 1.3 only, and odd record versions, are TLS all the same.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 hello inside $CLIENT tls "$EVIL4" 443 api.allowed.test version=TLSv1_3
expect 1 . inside $CLIENT tls "$EVIL4" 443 evil.test version=TLSv1_3
for record in 0300 0301 0302 0303 0304; do
	expect 1 . inside $CLIENT tls "$EVIL4" 443 evil.test "record_version=$record"
	expect 0 hello inside $CLIENT tls "$EVIL4" 443 api.allowed.test "record_version=$record"
done
audit 6 event=network_blocked host=evil.test app=tls
evil_saw_nothing
verified
