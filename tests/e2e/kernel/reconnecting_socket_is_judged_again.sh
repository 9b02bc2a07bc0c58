#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# AF_UNSPEC dissolves an allowed connection; the next connect is a new question.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "tcp://db.test:7"]}'
expect 1 '^(EACCES|EPERM)' inside bash -c \
	"$CLIENT unspec \$($CLIENT names db.test | tr ' ' '\n' | grep -v :) 7 $EVIL4 9999"
audit event=network_blocked "addr=$EVIL4" port=9999
evil_saw_nothing
verified
