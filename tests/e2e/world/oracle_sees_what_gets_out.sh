#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The oracle itself: without nej a canary reaches the evil address, and the scenario would fail.
. "$(dirname "$0")/../lib.sh"
on_host $CLIENT udp "$EVIL4" 9999
on_host $CLIENT udp "$EVIL6" 9999
on_host $CLIENT tcp "$EVIL4" 7
world kind=canary "dst=$EVIL4" proto=17
world kind=canary "dst=$EVIL6" proto=17
world kind=packet "dst=$EVIL4" proto=6 port=7
world kind=raw "dst=$EVIL4" "data=$CANARY"
if (evil_saw_nothing) >/dev/null; then
	fail "the oracle is blind"
fi
