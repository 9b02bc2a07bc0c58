#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A full disk under the gateway's log: 503 for every sandbox but those whose policy says `continue`; with
# room again all is as before, and the log says what it lost.
. "$(dirname "$0")/../lib.sh"
mkdir "$E2E/small"
mount -t tmpfs -o size=64k,mode=755 none "$E2E/small"
AT_END+=("umount -l $E2E/small")
ln -s small/gateway.jsonl "$E2E/gateway.jsonl"
tenant box <<<'{rules: [allow: api.allowed.test]}'
tenant lax <<<'{audit: {on_failure: continue}, rules: [allow: api.allowed.test]}'
nsenter --net="/run/netns/$HOST_NS" "$NEJ" gateway --listen 172.30.0.2:3140 --policies "$E2E/policies" \
	--audit "$E2E/small/gateway.jsonl" --resolver "$RESOLVER" >"$E2E/gateway.out" 2>&1 &
GATEWAY=$!
eventually grep -q listen= "$E2E/gateway.out"
is() {
	[ "$(at_gateway "$2" -o /dev/null -w '%{http_code} %header{x-nej-reason}' \
		http://api.allowed.test/)" = "$1" ]
}
is '200 ' box && is '200 ' lax || fail "not served at first"
dd if=/dev/zero of="$E2E/small/fill" bs=1k 2>/dev/null || true
for try in $(seq 60); do
	at_gateway box -o /dev/null "http://h$try.evil.test/" || true
done
eventually is '503 audit-unavailable' box
is '200 ' lax || fail "on_failure: continue does not"
rm "$E2E/small/fill"
eventually is '200 ' box
gate event=events_lost reason=audit-unavailable
AUDIT=$E2E/small/gateway.jsonl verified
