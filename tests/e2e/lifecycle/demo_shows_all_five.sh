#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The demo judges itself; it must be content, and leave nothing behind.
. "$(dirname "$0")/../lib.sh"
expect 0 'came as it should' "$NEJ" demo
expect 0 '0 connection\(s\) to the evil' "$NEJ" demo
! ls -d /run/nej-demo.* 2>/dev/null || fail "a folder stays"
