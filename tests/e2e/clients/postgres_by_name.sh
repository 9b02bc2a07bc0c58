#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# psql's first packet is its own; what comes back may be anything, the name decided.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: "tcp://db.test:5432"]}'
inside timeout 3 psql 'host=db.test user=x dbname=x sslmode=disable connect_timeout=2' -c 'select 1' || true
world kind=raw port=5432 "data=~user"
audit event=network_allowed host=db.test port=5432
within 3000 inside psql 'host=evil.test user=x dbname=x connect_timeout=2' -c 'select 1'
evil_saw_nothing
verified
