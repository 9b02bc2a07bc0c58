#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A literal the policy names, and its neighbour.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOF'
	version: 1
	private: [10.0.0.5/32]
	rules:
	  - allow: 10.0.0.5/32:8080
EOF
expect 0 hello inside curl -sS --max-time 5 http://10.0.0.5:8080/
expect ! '' inside curl -sSf --max-time 5 http://10.0.0.6:8080/
audit event=network_allowed addr=10.0.0.5 port=8080
audit event=network_blocked addr=10.0.0.6 port=8080
none_world kind=packet dst=10.0.0.6
verified
