#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A signal makes nej read its secrets anew: the next request has the new value, on a connection that
# is kept too; one whose source is gone is refused with 503.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
echo first-0123456789abcdefghijklmnop >"$E2E/token" && chmod 600 "$E2E/token"
policy <<<"{version: 1, rules: [allow: gh.test], secrets: {GH: {file: $E2E/token, for: [gh.test]}}}"
mkfifo -m 666 "$E2E/step"
loop='import os, sys, http.client, ssl
c = http.client.HTTPSConnection("gh.test", 443)
for path in ("/1", "/2", "/3"):
    open(sys.argv[1]).read()
    c.request("GET", path, headers={"Authorization": "token " + os.environ["GH"]})
    r = c.getresponse(); r.read(); print(path, r.status, flush=True)'
inside /usr/bin/python3 -c "$loop" "$E2E/step" >"$E2E/out" 2>&1 &
pid=$!
eventually test -e "/run/nej/$NAME"
echo >"$E2E/step"
eventually grep -q '/1 200' "$E2E/out"
nej=$(pgrep -f -n -- "-n $NAME --audit") && echo second-0123456789abcdefghijklmno >"$E2E/token"
kill -HUP "$nej" && sleep 1 && echo >"$E2E/step"
eventually grep -q '/2 200' "$E2E/out"
rm "$E2E/token" && kill -HUP "$nej" && sleep 1 && echo >"$E2E/step"
wait $pid || true
grep -q '/3 503' "$E2E/out" || fail "$(cat "$E2E/out")"
world kind=http path=/1 'headers.authorization=token first-0123456789abcdefghijklmnop'
world kind=http path=/2 'headers.authorization=token second-0123456789abcdefghijklmno'
none_world kind=http path=/3
audit event=network_blocked reason=secret-unavailable status=503 detail=~GH
verified
