#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Downloads and uploads, plain, tunnelled and explicit, chunked too; the hash must be right.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
head -c 30000000 /dev/urandom >"$E2E/blob"
sum=$(sha256sum <"$E2E/blob" | cut -d' ' -f1)
fetch="curl -sS --max-time 30 --cacert $CA"
for way in '' "--noproxy *"; do
	set -f
	# shellcheck disable=SC2086
	for url in http://api.allowed.test https://api.allowed.test; do
		expect 0 "30000000 $sum" inside $fetch $way -T "$E2E/blob" "$url/upload"
		expect 0 '^100000000' inside $fetch $way -o /dev/null -w '%{size_download}' "$url/big?n=100000000"
	done
	expect 0 '^hello' inside $fetch $way http://api.allowed.test/trailers
	expect 0 '30000000|^30' inside $fetch $way -H 'Expect: 100-continue' -T "$E2E/blob" \
		http://api.allowed.test/upload
	set +f
done
expect 0 '[0-9]' inside bash -c "head -c 100000 /dev/zero | $fetch -T - http://api.allowed.test/upload"
none_audit event=network_blocked
verified
