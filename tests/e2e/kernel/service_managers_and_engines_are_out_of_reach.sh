#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Asking another process to do it: D-Bus, container engines, name service daemons.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
made=()
for path in /run/docker.sock /run/dbus/system_bus_socket /run/nscd/socket \
	/run/containerd/containerd.sock /run/systemd/resolve/io.systemd.Resolve; do
	[ -e "$path" ] && continue
	mkdir -p "$(dirname "$path")"
	/usr/bin/python3 -c 'import socket, sys, time, os
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666)
s.listen(); time.sleep(50)' "$path" &
	made+=("$path") && AT_END+=("kill $!")
	eventually test -S "$path"
done
reached=
for path in "${made[@]}"; do
	inside $CLIENT unix "$path" && reached="$reached $path"
done
for path in "${made[@]}"; do
	rm -f "$path" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$path")"
done
[ ${#made[@]} -gt 0 ] || fail "nothing could be tried"
[ -z "$reached" ] || fail "reached$reached"
