#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A database protocol that nej does not speak, by name through a synthetic address.
. "$(dirname "$0")/../lib.sh"
on_internet redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --save '' --dir "$E2E" \
	>"$E2E/redis.out" 2>&1 &
eventually on_host redis-cli -h 93.184.216.38 ping
policy <<<'{version: 1, rules: [allow: "tcp://db.test:6379"]}'
expect 0 PONG inside redis-cli -h db.test ping
expect 0 '^OK.*value' inside bash -c 'redis-cli -h db.test set key value; redis-cli -h db.test get key'
expect ! . inside bash -c 'redis-cli -h evil.test ping | grep PONG'
audit event=network_allowed host=db.test port=6379 app=~raw
evil_saw_nothing
verified
