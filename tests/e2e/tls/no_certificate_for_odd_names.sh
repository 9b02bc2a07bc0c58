#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Addresses and nonsense in the server name get an alert, not a certificate, in either default.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
for policy in '{version: 1, rules: [{allow: "*", inspect: true}]}' \
	'{version: 1, default: allow, rules: [deny: "https://gh.test/x"]}'; do
	policy <<<"$policy"
	for name in 1.2.3.4 10.0.0.5 2130706433 x..y 'a b.test'; do
		expect ! . inside timeout 5 openssl s_client -connect "$EVIL4:443" -servername "$name" -brief
	done
	expect ! . inside timeout 5 openssl s_client -connect "$EVIL4:443" -noservername -brief
done
none_world kind=dns "name=~^[0-9]"
evil_saw_nothing
verified
