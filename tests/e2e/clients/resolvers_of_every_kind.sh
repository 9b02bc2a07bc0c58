#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# glibc, musl, Go and dig are content with the stub in both modes.
. "$(dirname "$0")/../lib.sh"
for mode in synthetic resolve; do
	policy <<<"{version: 1, dns: $mode, rules: [allow: [api.allowed.test, v4.allowed.test]]}"
	for name in api.allowed.test v4.allowed.test; do
		for fetch in fetch fetch-musl; do
			[ -x "$E2E_SHARED/bin/$fetch" ] || continue
			expect 0 "hello from $name" inside "$E2E_SHARED/bin/$fetch" "$name" 80
		done
	done
	if [ -x "$E2E_SHARED/bin/fetch-go" ]; then
		expect 0 'local hello.*200 hello' inside env -u http_proxy -u HTTP_PROXY \
			"$E2E_SHARED/bin/fetch-go" http://api.allowed.test/
		expect 0 '200 hello' inside "$E2E_SHARED/bin/fetch-go" http://api.allowed.test/
	fi
	expect 0 'api.allowed.test' inside getent ahosts api.allowed.test
done
none_audit event=network_blocked
none_audit event=dns_blocked
verified
