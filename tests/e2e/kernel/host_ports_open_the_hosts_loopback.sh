#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The named port of the host's loopback, from a sandbox with a network namespace of its own.
. "$(dirname "$0")/../lib.sh"
on_host $CLIENT serve 127.0.0.1 3001 "$E2E/up" &
wait_for "$E2E/up"
policy <<<'{version: 1, host_ports: [3001], rules: []}'
expect 0 local inside $CLIENT tcp 127.0.0.1 3001 hi
expect 1 '^ECONNREFUSED' inside $CLIENT tcp 127.0.0.1 3002 hi
verified
