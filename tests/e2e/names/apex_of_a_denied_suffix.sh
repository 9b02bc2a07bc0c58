#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A leading dot is the name and all below it; a look-alike is somebody else.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, default: allow, rules: [deny: .mirror.test]}'
code=(curl -sS --max-time 5 -o /dev/null -w '%{http_code}')
expect 0 403 inside "${code[@]}" http://mirror.test/
expect 0 403 inside "${code[@]}" http://m.mirror.test/
expect 0 200 inside "${code[@]}" http://notmirror.test/
verified
