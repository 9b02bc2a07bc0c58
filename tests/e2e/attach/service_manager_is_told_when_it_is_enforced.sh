#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The unit's templates are sound; attach says READY=1 when, and not before, the target is confined;
# SIGTERM, as systemd stops it, lets go.
. "$(dirname "$0")/../lib.sh"
target
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
ROOT=$(dirname "$0")/../../..
if command -v systemd-analyze >/dev/null; then
	sed "s|@BINDIR@/nej|$NEJ|" "$ROOT/tools/systemd/nej@.service" >"$E2E/nej@agents.service"
	expect 0 '' systemd-analyze verify --man=no "$E2E/nej@agents.service"
fi
/usr/bin/python3 -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
listener.settimeout(20)
open(sys.argv[2], "wb").write(listener.recv(100))' "$E2E/notify" "$E2E/told" &
wait_for "$E2E/notify"
NOTIFY_SOCKET=$E2E/notify on_host "$NEJ" attach --cgroup "$TARGET" -p "$E2E/policy.yaml" -n "$NAME" \
	--audit "$AUDIT" --resolver "$RESOLVER" >"$E2E/attach.out" 2>&1 &
attached=$!
eventually grep -qx 'READY=1' "$E2E/told"
expect 1 '^(EACCES|EPERM)' in_target $CLIENT tcp "$EVIL4" 25 hi
kill -TERM "$(sed -n 's/^pid=//p' "/run/nej/$NAME/state")" && wait $attached || fail "attach ended with $?"
[ ! -e "/run/nej/$NAME" ] || fail "its state stays"
/usr/bin/python3 -c 'import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))' "$ROOT/tools/k8s/nej.yaml" ||
	fail "the manifest is no YAML"
evil_saw_nothing
