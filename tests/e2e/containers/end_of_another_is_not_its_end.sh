#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container goes on under its policy when another's end is told: one of the same id in another bundle,
# one of the same id and bundle, one of the same name.
. "$(dirname "$0")/../containers.sh"
before_end 'for id in "$ID" "$ID-b"; do runc delete -f "$id"; done; rmdir /sys/fs/cgroup/unified/"nej-$ID"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
# told STAGE ID BUNDLE: what a hook of some runtime hears
told() {
	on_host "$NEJ" oci-hook --policies "$E2E" "$1" <<<"{\"id\":\"$2\",\"bundle\":\"$3\",\"pid\":0}"
}
confined() {
	eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
	expect 1 'Permission denied|not permitted' runc exec "$ID" nc -w 3 "$EVIL4" 25
	expect 0 hello runc exec "$ID" fetch api.allowed.test 80
}
bundle nej.policy=policy nej.name="$NAME" -- sleep 60
runtime runc run -d --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$(cat "$E2E/out")"
told poststop "$ID" "$E2E/elsewhere" && confined
told poststop "$ID" "$BUNDLE" 2>"$E2E/said" && confined
grep -q 'goes on until they have ended' "$E2E/said" || fail "$(cat "$E2E/said")"
# A request of a hook, to which a supervisor that hung comes when somebody is there again.
expect 0 'processes are in it' /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b"{\"command\": \"detach\", \"if_empty\": true}\n")
print(s.recv(4096))' "/run/nej/$NAME.sock"
runtime runc run --bundle "$BUNDLE" "$ID-b" >"$E2E/out" 2>&1 && fail "one cgroup twice"
confined
expect 0 '' runtime runc delete -f "$ID"
nothing_stays
evil_saw_nothing
verified
