#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A grant is bound by the policy language, by the sandbox it is for, in time and in number, and asked for by
# root alone.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, private: [10.1.0.0/16], rules: [allow: api.allowed.test]}'
inside sleep 100 &
run=$!
eventually "$NEJ" grant "$NAME" --list
no() { local pattern=$1 && shift && expect 1 "$pattern" "$NEJ" grant "$NAME" --for 10m "$@"; }
for target in 169.254.169.254:80 '[fd00:ec2::254]:80' 100.100.100.200:80 127.0.0.1:22 '[::1]:22' localhost:22 \
	10.2.0.1:80 192.168.0.0/16:443 0x7f.1:80 224.0.0.1:80; do
	no 'would open nothing|is an address|link-local|error|not' "$target"
done
expect 0 'grant 1' "$NEJ" grant "$NAME" 10.1.0.7:80 --for 1s
no 'needs .transport: kernel' udp://93.184.216.34:123
no 'no way out but the proxy' udp://93.184.216.34:123 --transport kernel
no 'direct or kernel' a.test --transport upstream
no 'look.* for inside TLS.* grant the host whole' 'POST https://gh.test/x'
no 'a target is one line' $'a.test\nb.test'
no 'a note is one line' a.test --note $'\e[2J'
no '' 'a.test"}, {allow: "*'
no '' 'https://user@a.test/'
expect 2 'say how long' "$NEJ" grant "$NAME" a.test
for duration in 0s 10 -1m 25h 1d '' 10m10m; do
	expect ! 'write how long' "$NEJ" grant "$NAME" a.test --for "$duration"
done
expect 1 'no sandbox named nobody' "$NEJ" grant nobody a.test --for 1m
expect 1 'no such grant' "$NEJ" revoke "$NAME" 99
expect 1 'Permission denied|no sandbox' setpriv --reuid 65534 --clear-groups "$NEJ" grant "$NAME" a.test --for 1m
eventually bash -c "'$NEJ' grant '$NAME' --list | grep -q 'no grant'"
for i in $(seq 64); do "$NEJ" grant "$NAME" "h$i.test" --for 1h >/dev/null || fail "number $i"; done
no '64 grants are in force' h65.test
expect 0 'grant' "$NEJ" grant "$NAME" h7.test --for 2h
[ "$("$NEJ" grant "$NAME" --list | wc -l)" = 64 ] || fail "$("$NEJ" grant "$NAME" --list)"
none_audit event=grant_added target='~169|254|POST|udp'
kill "$("$NEJ" status "$NAME" --json | grep -oP '"pid": \K\d+')"
wait "$run" || true
verified
