#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Name, address, process, rule and reason; the counters of the kernel agree at the end.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOF'
	version: 1
	rules:
	  - allow: api.allowed.test
	    note: the only one
EOF
inside bash -c "curl -s --max-time 5 --cacert $CA https://api.allowed.test/; $CLIENT udp $EVIL4 9999 50
	$CLIENT connect $EVIL4 9999; curl -s http://evil.test/" || true
audit 1 event=network_allowed host=api.allowed.test port=443 app=tls comm=curl "rule.line=3"
audit 1 event=network_blocked proto=tcp "addr=$EVIL4" port=9999 comm=python3 layer=kernel
audit event=network_blocked host=evil.test comm=curl reason=no-rule method=GET status=403
audit 1 event=sandbox_started
audit 1 event=policy_loaded "policy=~^sha256:"
audit 1 event=sandbox_finished
none_audit event=events_lost
expect 0 'evil.test' "$NEJ" log --denied "$AUDIT"
expect 0 'allow:.*evil.test' "$NEJ" suggest "$AUDIT"
verified
