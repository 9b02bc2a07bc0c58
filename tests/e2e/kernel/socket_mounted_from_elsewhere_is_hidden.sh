#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container engine's socket under any name, as it is mounted into a container: who listens on it is
# in another network namespace and in no table of this one. The policy can open it.
. "$(dirname "$0")/../lib.sh"
on_internet /usr/bin/python3 -c 'import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666)
s.listen(); time.sleep(50)' "$E2E/engine.sock" &
eventually test -S "$E2E/engine.sock"
mkdir "$E2E/in" && touch "$E2E/in/e.sock"
mount --bind "$E2E/engine.sock" "$E2E/in/e.sock"
AT_END+=("umount $E2E/in/e.sock")
policy <<<'{version: 1, rules: []}'
expect 1 'EACCES' inside $CLIENT unix "$E2E/in/e.sock"
policy <<<"{version: 1, unix: [$E2E/in/e.sock], rules: []}"
expect 0 '' inside $CLIENT unix "$E2E/in/e.sock"
