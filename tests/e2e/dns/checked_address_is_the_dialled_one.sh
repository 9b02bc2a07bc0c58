#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The answer flips between check and dial: there is one lookup a dial, and what it gave is dialled.
. "$(dirname "$0")/../lib.sh"
zone <<-EOF
	flip.pkg.test A $PKG4|127.0.0.1
	flip.pkg.test AAAA
	flop.pkg.test A 127.0.0.1|$PKG4
	flop.pkg.test AAAA
EOF
policy <<<'{version: 1, rules: [allow: .pkg.test]}'
expect 0 hello inside curl -sS --max-time 5 http://flip.pkg.test/
expect 0 403 inside curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://flop.pkg.test/
world 1 kind=dns name=flip.pkg.test type=A
world 1 kind=http "dst=$PKG4"
none_world kind=packet dst=127.0.0.1
verified
