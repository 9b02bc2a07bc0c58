#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Status has the verdicts of every layer, bytes, open connections and the worker's restarts.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
inside bash -c '
	curl -s --noproxy "*" -o /dev/null http://api.allowed.test/
	curl -s -o /dev/null http://evil.test/
	for i in 1 2 3; do getent hosts denied.evil.test; done
	bash -c "echo >/dev/tcp/45.33.32.156/25"
	openssl s_client -connect api.allowed.test:443 -servername api.allowed.test < <(sleep 20) >/dev/null 2>&1
	sleep 20' \
	>"$E2E/out" 2>&1 &
run=$!
eventually audit event=network_allowed app=tls
# is KEY=VALUE...: a number or text by the path of its keys, `+` for more than nothing
is() {
	"$NEJ" status "$NAME" --json | /usr/bin/python3 -c '
import json, sys
box = json.load(sys.stdin)[0]
seen = {"/".join([v["verdict"], v["layer"], v["reason"]]): v["count"] for v in box["totals"]["verdicts"]}
for want in sys.argv[1:]:
    key, value = want.split("=")
    got = seen.get(key, box["totals"].get(key, box.get(key)))
    if not (got and got > 0 if value == "+" else str(got) == value):
        sys.exit(f"{key} is {got}: {box}")' "$@"
}
eventually is open_connections=1
is state=enforcing generation=1 worker_restarts=0 allowed/http/rule=1 blocked/dns/no-rule=+ \
	blocked/kernel/no-rule=1 bytes_in=+ bytes_out=+ dns_denied=+ unrecorded=0 tls=1
expect 0 'open_connections: 1.*allowed by http, rule: 1' "$NEJ" status "$NAME"
kill -KILL "$(pgrep -fx "nej worker $NAME")"
eventually is worker_restarts=1
eventually is open_connections=0
kill "$("$NEJ" status "$NAME" --json | grep -oP '"pid": \K\d+')"
wait "$run" || true
verified
