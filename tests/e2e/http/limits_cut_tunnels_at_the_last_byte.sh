#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Bytes that limits allow pass to the last one, on tunnels nobody looks into too; then the connection
# is cut, and the next one does not begin.
. "$(dirname "$0")/../lib.sh"
policy <<-'EOF2'
	version: 1
	rules:
	  - allow: https://api.allowed.test
	    limits: {bytes_in: 300000}
	  - allow: tcp://a.pkg.test:7
	    limits: {bytes_out: 10}
EOF2
get="curl -sS --cacert $CA --max-time 9 -o /dev/null -w %{size_download}\\n https://api.allowed.test/big?n=10000000"
expect 0 'response 429.*alert internal error' inside sh -c "$get; $get; $get --noproxy '*' || true"
audit host=api.allowed.test bytes_in=300000
audit event=network_blocked reason=limit host=api.allowed.test "detail=~bytes"
inside $CLIENT bytes a.pkg.test 7 0123456789 sleep:200 X >"$E2E/out" 2>&1 || true
world kind=raw data=0123456789
none_world kind=raw "data=~X"
audit host=a.pkg.test bytes_out=10
audit event=network_blocked reason=limit host=a.pkg.test
verified
