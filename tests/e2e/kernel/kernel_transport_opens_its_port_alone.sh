#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `transport: kernel`: the program's own socket goes out, to that name's addresses and port, and
# nowhere else. In a network of the sandbox's own it cannot, and nej says so.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOP'
	version: 1
	rules:
	  - allow: tcp://db.test:5432
	    transport: kernel
	  - allow: udp://93.184.216.38:5432
	    transport: kernel
EOP
expect 1 'transport: kernel.*--net=host' inside $CLIENT tcp db.test 5432 hello
none_world kind=packet port=5432
RUN=(--net=host)
expect 0 '^hello' inside $CLIENT tcp db.test 5432 hello
expect 0 '' inside $CLIENT udp 93.184.216.38 5432
world kind=packet dst=93.184.216.38 proto=17 port=5432
expect ! '' inside $CLIENT tcp db.test 7 "$CANARY"
expect ! '' inside $CLIENT tcp gh.test 5432 "$CANARY"
expect ! '' inside $CLIENT tcp "$EVIL4" 5432 "$CANARY"
expect ! '' inside $CLIENT fastopen "$EVIL4" 5432
expect 1 '^(EACCES|EPERM)' inside $CLIENT udp 93.184.216.38 5433
expect 1 '^(EACCES|EPERM)' inside $CLIENT udp "$EVIL4" 5432
none_world kind=packet "dst=~^($EVIL4|93.184.216.36)$"
none_world kind=packet port=7
verified
