#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Processes that are there come under the policy, those they make later too; a connection from before
# is cut where no rule opens its address; detach leaves all as it was; the next attach confines again.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: [allow: api.allowed.test, allow: "151.101.64.0/24:7"]}'
before=$(bpftool cgroup tree "$TARGET")
in_target $CLIENT keep tcp "$OK4" 7 "$E2E/forbidden" &
in_target $CLIENT keep tcp "$OK6" 7 "$E2E/forbidden6" &
in_target $CLIENT keep udp "$OK4" 53 "$E2E/datagrams" &
in_target $CLIENT keep tcp "$PKG4" 7 "$E2E/opened" &
in_target bash -c "echo up >$E2E/up; while [ ! -e $E2E/go ]; do sleep 0.1; done
	$CLIENT tcp $EVIL4 25 hi; curl -sS --max-time 5 --cacert $CA https://api.allowed.test/" >"$E2E/later" 2>&1 &
later=$!
for file in forbidden forbidden6 opened datagrams; do eventually grep -q got "$E2E/$file"; done
to_target && grep -q CAP_NET_RAW "$E2E/attach.out"
eventually grep -qE '^E' "$E2E/datagrams" && audit event=network_blocked proto=udp addr="$OK4" port=53
if has sock_destroy; then # else they fall silent, and are not told
	eventually grep -qE '^(ECONNABORTED|ECONNRESET|EPIPE)' "$E2E/forbidden" && eventually grep -qE '^E' "$E2E/forbidden6"
	audit event=network_blocked layer=supervisor proto=tcp addr="$OK4" port=7 'detail=~before the attach'
fi
heard() { grep -cE "\"dst\": \"($OK4|$OK6)\", \"port\": 7" "$E2E/world.log"; }
n=$(heard) && sleep 0.5 && [ "$(heard)" = "$n" ] || fail "a connection that no rule opens still sends"
none_audit layer=supervisor addr="$PKG4"
touch "$E2E/go" && wait $later || true
grep -q hello "$E2E/later" && grep -qE '^(EACCES|EPERM)' "$E2E/later" || fail "$(cat "$E2E/later")"
mkdir "$TARGET/below"
expect 1 '^(EACCES|EPERM)' bash -c "echo \$\$ >$TARGET/below/cgroup.procs; exec nsenter --net=/run/netns/$HOST_NS $CLIENT tcp $EVIL4 25 hi"
n=$(wc -l <"$E2E/opened") && sleep 0.5 && [ "$(wc -l <"$E2E/opened")" -gt "$n" ] && ! grep -q '^E' "$E2E/opened" || fail "the allowed connection stopped"
expect 0 'hello' on_host curl -sS --max-time 5 --cacert "$CA" --resolve "x.evil.test:80:$OK4" http://x.evil.test/
evil_saw_nothing
let_go
eventually eval '[ "$(bpftool cgroup tree "$TARGET")" = "$before" ]' || fail "something stays: $(bpftool cgroup tree "$TARGET")"
[ ! -e "/sys/fs/bpf/nej/$NAME" ] && [ ! -e "/run/nej/$NAME" ] || fail "pins or state stay"
expect 0 'hi peer' in_target $CLIENT tcp "$OK4" 7 hi
audit event=sandbox_finished ended_by='nej detach' && to_target
expect 1 '^E' in_target $CLIENT tcp "$OK4" 7 hi
let_go && verified
