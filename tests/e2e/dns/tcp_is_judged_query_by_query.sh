#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two questions in one stream, the second a denied one; a question in three segments; DoT.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 'status: NOERROR.*status: NXDOMAIN' \
	inside dig +tcp +keepopen @8.8.8.8 api.allowed.test x.evil.test
q='\x00\x22\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03api\x07allowed\x04test\x00\x00\x01\x00\x01'
expect 0 'allowed' inside $CLIENT bytes 8.8.8.8 53 "${q:0:8}" sleep:100 "${q:8:40}" sleep:100 "${q:48}"
expect 1 '^(EACCES|EPERM)' inside $CLIENT tcp 8.8.8.8 853 x
audit event=dns_blocked host=x.evil.test
audit event=network_blocked addr=8.8.8.8 port=853
none_world kind=dns
none_world kind=packet port=853
verified
