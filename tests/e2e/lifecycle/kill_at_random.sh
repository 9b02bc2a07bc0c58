#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Worker or supervisor killed at a random moment, 100 times, under load: nothing forbidden passes,
# the chain holds with every synced record, the next start works.
# alone
# timeout: 400
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
load="while :; do curl -s --max-time 1 http://api.allowed.test/; $CLIENT udp $EVIL4 9999 20
	curl -sk --noproxy '*' --max-time 1 https://$EVIL4/; done"
pids_of() { # role: processes of this sandbox's namespace whose command line says so
	ip netns pids "$HOST_NS" | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qE "$1" && echo "$pid"; done
}
killed=0
for round in $(seq 50); do
	inside timeout 20 bash -c "$load" >/dev/null 2>&1 &
	run=$!
	eventually pids_of 'nej.* worker' || fail "round $round: nothing started"
	for role in 'nej.* worker' "run -p $E2E/policy"; do
		sleep 0.$((RANDOM % 40 + 10))
		pid=$(pids_of "$role" | head -n 1) || true
		if [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null; then killed=$((killed + 1)); fi
	done
	wait "$run" 2>/dev/null || true
	"$NEJ" verify "$AUDIT" >"$E2E/v" 2>&1 || { [ $? -eq 1 ] && grep -qiE 'torn|unsigned|partial|head' "$E2E/v"; } ||
		fail "round $round: $(cat "$E2E/v")"
done
[ $killed -gt 90 ] || fail "only $killed of 100 were there to be killed"
expect 0 hello inside curl -sS --max-time 5 http://api.allowed.test/
evil_saw_nothing
none_audit event=audit_gap
verified
