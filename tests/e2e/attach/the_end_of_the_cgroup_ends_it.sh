#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container's cgroup is removed: nej ends with it and leaves nothing; its id stands in every record.
# In the foreground SIGTERM lets go. A policy with secrets is refused.
. "$(dirname "$0")/../lib.sh"
target
ID64=$(printf "%064x" "$RANDOM$RANDOM")
BOX=$TARGET/docker-$ID64.scope
mkdir "$BOX"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
attach --cgroup "$BOX"
inside_box() { bash -c "echo \$\$ >$BOX/cgroup.procs && exec nsenter --net=/run/netns/$HOST_NS \"\$@\"" sh "$@"; }
expect 1 '^E' inside_box $CLIENT tcp "$EVIL4" 25 hi
expect 0 hello inside_box curl -sS --max-time 5 http://api.allowed.test/
[ "$("$NEJ" status "$NAME" --json | jq -r '.[0].container')" = "$ID64" ] || fail "status knows no container"
rmdir "$BOX"
eventually [ ! -e "/run/nej/$NAME" ]
[ ! -e "/sys/fs/bpf/nej/$NAME" ] || fail "pins stay"
audit event=sandbox_finished ended_by='its cgroup is gone'
[ "$(grep -c "\"container\":\"$ID64\"" "$AUDIT")" = "$(wc -l <"$AUDIT")" ] || fail "a record without the container"
on_host "$NEJ" attach --cgroup "$TARGET" -p "$E2E/policy.yaml" -n "$NAME" --audit "$AUDIT" --resolver "$RESOLVER" 2>"$E2E/err" &
eventually grep -q 'is enforced' "$E2E/err"
expect 1 '^E' in_target $CLIENT tcp "$EVIL4" 25 hi
kill -TERM "$("$NEJ" status "$NAME" --json | jq '.[0].pid')"
wait $! || fail "status $?"
expect 0 'hi peer' in_target $CLIENT tcp "$OK4" 7 hi
policy <<<'{version: 1, rules: [allow: api.allowed.test], secrets: {T: {env: T, for: [api.allowed.test]}}}'
expect 2 'policy has secrets' env T=value nsenter --net="/run/netns/$HOST_NS" "$NEJ" attach --cgroup "$TARGET" -p "$E2E/policy.yaml"
evil_saw_nothing
verified
