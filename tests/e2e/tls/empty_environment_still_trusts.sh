#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tools that drop the variables read the system's own store, which has the authority too.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: gh.test, inspect: true}]}'
expect 0 hello inside env -i /usr/bin/curl -sS --max-time 5 https://gh.test/
expect 0 hello inside env -i /usr/bin/wget -qO- --timeout=5 --tries=1 https://gh.test/
printf 'all:\n\t@env -i curl -sS --max-time 5 https://gh.test/\n' >"$E2E/Makefile"
expect 0 hello inside make -sf "$E2E/Makefile"
verified
