#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The numbers of a running sandbox as Prometheus reads them.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside bash -c '
	curl -s --noproxy "*" -o /dev/null http://api.allowed.test/
	getent hosts denied.evil.test
	sleep 20' >"$E2E/out" 2>&1 &
run=$!
eventually audit event=dns_blocked
page() { "$NEJ" status "$NAME" --metrics; }
expect 0 "nej_verdicts_total\{sandbox=\"$NAME\",layer=\"http\",reason=\"rule\",verdict=\"allowed\"\} 1" page
expect 0 "nej_verdicts_total\{sandbox=\"$NAME\",layer=\"dns\",reason=\"no-rule\",verdict=\"blocked\"\} [1-9]" page
expect 0 "nej_state\{sandbox=\"$NAME\",state=\"enforcing\"\} 1" page
expect 0 "nej_bytes_total\{sandbox=\"$NAME\",direction=\"in\"\} [1-9]" page
expect 0 "nej_policy_generation\{sandbox=\"$NAME\"\} 1" page
expect 0 "nej_attempt_duration_seconds_count\{sandbox=\"$NAME\",verdict=\"allowed\"\} 1" page
kill "$("$NEJ" status "$NAME" --json | grep -oP '"pid": \K\d+')"
wait "$run" || true
verified
