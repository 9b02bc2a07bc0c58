#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Root in the target, to whom nej's folder is in view, asks the supervisor for a detach, a halt, another
# policy: it is refused at once, also from a cgroup below, and stays confined; root outside is heard.
. "$(dirname "$0")/../lib.sh"
AT_END=('find "$TARGET" -mindepth 2 -depth -type d -delete; find "$TARGET" -mindepth 1 -depth -type d -delete' "${AT_END[@]}")
target
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
echo '{version: 1, rules: [allow: "*.test"]}' >"$E2E/other.yaml"
on_host sleep 60 &
echo $! >"$TARGET/cgroup.procs"
to_target
mkdir "$TARGET/below"
expect 1 'only root may ask, from outside' in_target "$NEJ" detach "$NAME"
expect ! 'only root may ask, from outside' in_target "$NEJ" halt "$NAME"
expect ! 'only root may ask, from outside' in_target "$NEJ" reload "$NAME" -p "$E2E/other.yaml"
from_below() { (echo "$BASHPID" >"$TARGET/below/cgroup.procs" && exec "$@"); }
within 2000 from_below "$NEJ" detach "$NAME"
# One that asks through a child that is gone by then is nobody.
in_target /usr/bin/python3 -c '
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
if os.fork() == 0:
    s.connect(sys.argv[1]); os._exit(0)
os.wait(); s.send(b"{\"command\": \"detach\"}\n"); time.sleep(0.5)' "/run/nej/$NAME.sock" || true
# From a cgroup so deep that with its mount point no path leads to it.
expect 1 'only root may ask, from outside' in_target /usr/bin/python3 -c '
import os, sys
os.chdir(sys.argv[1])
left = 4090 - len([l for l in open("/proc/self/cgroup") if l.startswith("0::")][0].strip()[3:])
while left > 4: n = min(250, left - 1); os.mkdir("d" * n); os.chdir("d" * n); left -= n + 1
open("cgroup.procs", "w").write("0")
os.execv(sys.argv[2], [sys.argv[2], "detach", sys.argv[3]])' "$TARGET" "$NEJ" "$NAME"
expect 0 enforcing "$NEJ" status "$NAME"
expect ! '' in_target curl -s -m 5 "http://x.evil.test/"
let_go
evil_saw_nothing
