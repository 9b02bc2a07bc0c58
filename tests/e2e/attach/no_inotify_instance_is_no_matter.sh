#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# More sandboxes than a user has inotify instances (128): attach works, and the end of the cgroup still
# ends it.
. "$(dirname "$0")/../lib.sh"
target
mkdir "$TARGET/box"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
cc -shared -fPIC -o "$E2E/none.so" -x c - <<-'EOF'
	#include <errno.h>
	int inotify_init1(int flags);
	int inotify_init1(int flags) { (void)flags; errno = EMFILE; return -1; }
EOF
LD_PRELOAD=$E2E/none.so attach --cgroup "$TARGET/box"
expect 0 'enforcing' "$NEJ" status "$NAME"
rmdir "$TARGET/box"
eventually [ ! -e "/run/nej/$NAME" ]
audit event=sandbox_finished ended_by='its cgroup is gone'
verified
