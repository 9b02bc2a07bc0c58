#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# -u: that user's sockets are under the policy, another user's in the same cgroup are not touched, not
# even while the attach begins; --uid-guard finds the user in every other cgroup as well.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
agent() { in_target setpriv --reuid 30001 --regid 30001 --clear-groups "$@"; }
other() { in_target setpriv --reuid 30002 --regid 30002 --clear-groups "$@"; }
mkdir -m 777 "$E2E/o"
other $CLIENT keep tcp "$OK4" 7 "$E2E/o/other" &
agent $CLIENT keep tcp "$OK4" 7 "$E2E/o/agent" &
eventually grep -q got "$E2E/o/other" && eventually grep -q got "$E2E/o/agent"
to_target -u 30001
eventually grep -q '^E' "$E2E/o/agent"
expect 0 hello agent curl -sS --max-time 5 --cacert "$CA" https://api.allowed.test/
expect 1 '^(EACCES|EPERM)' agent $CLIENT udp "$EVIL4" 9999
expect 1 '^E' agent $CLIENT tcp "$EVIL4" 25 hi
expect 0 'hi peer' other $CLIENT tcp "$OK4" 7 hi
expect 0 'hi peer' on_host setpriv --reuid 30001 --clear-groups $CLIENT tcp "$OK4" 7 hi
expect 0 'generation 2' in_target "$NEJ" reload "$NAME" # root is not confined there
let_go
expect 2 'root' on_host "$NEJ" attach --uid-guard -u root -p "$E2E/policy.yaml"
attach --uid-guard -u 30001
expect 1 '^(EACCES|EPERM)' on_host setpriv --reuid 30001 --clear-groups $CLIENT tcp "$EVIL4" 25 hi
expect 0 hello on_host setpriv --reuid 30001 --clear-groups curl -sS --max-time 5 http://api.allowed.test/
expect 1 '^E' agent $CLIENT tcp "$EVIL4" 25 hi
expect 0 'hi peer' other $CLIENT tcp "$OK4" 7 hi
expect 0 'hi peer' on_host $CLIENT tcp "$OK4" 7 hi
n=$(wc -l <"$E2E/o/other") && sleep 0.3
[ "$(wc -l <"$E2E/o/other")" -gt "$n" ] && ! grep -q '^E' "$E2E/o/other" || fail "the other user's connection stopped"
let_go
expect 0 'hi peer' agent $CLIENT tcp "$OK4" 7 hi
evil_saw_nothing
verified
