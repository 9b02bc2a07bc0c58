#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A minute of everything at once (tools/soak): nothing forbidden leaves, what is allowed works through
# reloads, the log agrees with the kernel. And a soak with one forbidden packet does not pass.
# alone
# timeout: 180
. "$(dirname "$0")/../lib.sh"
soak=$(dirname "$0")/../../../tools/soak/soak
expect 1 "the internet saw: packet to $EVIL4.*FAILED: 6 s" "$soak" --nej "$NEJ" --seconds 6 --rate 40 --prove
expect 0 'passed: 60 s, 1[0-9]{4} attempts' "$soak" --nej "$NEJ" --seconds 60 --reload 5 --sample 2
