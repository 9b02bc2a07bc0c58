#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A container whose cgroup holds others too: they would be confined with it, so it is not started.
. "$(dirname "$0")/../containers.sh"
GROUP=/sys/fs/cgroup/unified/nej-$ID
before_end 'kill $first $other; rmdir "$GROUP"'
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
bundle -- true
mkdir "$GROUP"
bash -c "echo 0 >'$GROUP/cgroup.procs'; exec sleep 60" &
other=$!
bash -c "echo 0 >'$GROUP/cgroup.procs'; exec unshare -n sleep 60" &
first=$!
eventually bash -c "[ \$(wc -l <'$GROUP/cgroup.procs') = 2 ]"
state="{\"id\":\"$ID\",\"bundle\":\"$BUNDLE\",\"pid\":$first,\"annotations\":{\"nej.policy\":\"policy\",\"nej.name\":\"$NAME\"}}"
expect 2 "holds others too, process $other" bash -c "'$NEJ' oci-hook --accept processes --policies '$E2E' createRuntime <<<'$state'"
nothing_stays
kill $other && wait $other || true
expect 0 '' bash -c "'$NEJ' oci-hook --accept processes --policies '$E2E' createRuntime <<<'$state'"
eventually bash -c "'$NEJ' status | grep -q '$NAME .*enforcing'"
kill $first && wait $first || true
expect 0 '' bash -c "'$NEJ' oci-hook poststop <<<'$state'"
nothing_stays
