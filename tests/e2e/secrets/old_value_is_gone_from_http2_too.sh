#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The same as over HTTP/1 when HTTP/2 carried it to the origin: after a rotation the old value is in no
# buffer of frames or streams of the worker, the new one once in its store.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin only
RUN=(--ca "$CA")
printf old-Zq7xK2mW9vR4tY6uP1sD3fG5hJ8 >"$E2E/token"
policy <<<"{version: 1, rules: [allow: h2.test], secrets: {GH: {file: $E2E/token, for: [h2.test], in: [headers, query, body]}}}"
mkfifo -m 666 "$E2E/step"
cat >"$E2E/try" <<-'EOF2'
	ask() { curl -sS --max-time 5 -o /dev/null "$@" || true; }
	for i in 1 2 3; do
		ask "https://h2.test/echo/plain?k=$GH" -H "X-Api-Key: $GH" -d "k=$GH&i=$i"
		ask https://h2.test/echo/gzip --compressed -u "me:$GH" -b "k=$GH"
		{ head -c 300000 /dev/zero | tr '\0' x; printf %s "$GH"; } | ask https://h2.test/upload --data-binary @-
	done
	echo ready && read -r _ <"$1"
EOF2
chmod 755 "$E2E/try"
inside bash "$E2E/try" "$E2E/step" >"$E2E/out" 2>&1 &
pid=$!
eventually grep -q ready "$E2E/out" || fail "$(cat "$E2E/out")"
worker=$(pgrep -f -n -x -- "nej worker $NAME")
in_memory='import re, sys
found, mem = 0, open(f"/proc/{sys.argv[1]}/mem", "rb", 0)
for line in open(f"/proc/{sys.argv[1]}/maps"):
    low, high = (int(n, 16) for n in re.match(r"(\w+)-(\w+)", line).groups())
    if " rw" in line:
        mem.seek(low)
        found += mem.read(high - low).count(sys.argv[2].encode())
print(found)'
printf new-Bn3cV5bN7mL9kJ1hG2fD4sA6qW8 >"$E2E/token"
kill -HUP "$(pgrep -f -n -- "-n $NAME --audit")" && sleep 2
expect 0 '^0' /usr/bin/python3 -c "$in_memory" "$worker" Zq7xK2mW9vR4tY6uP1sD3fG5hJ8
expect 0 '^1' /usr/bin/python3 -c "$in_memory" "$worker" Bn3cV5bN7mL9kJ1hG2fD4sA6qW8
echo >"$E2E/step"
wait $pid || true
