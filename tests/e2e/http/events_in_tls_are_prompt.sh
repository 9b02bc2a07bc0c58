#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each event of a stream arrives when it is sent: HTTP/1.1 and HTTP/2, plain and compressed.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: h2.test, inspect: true}]}'
cat >"$E2E/sse.py" <<-'EOF'
	import subprocess, sys, time
	curl = subprocess.Popen(["curl", "-sSN", "--max-time", "9", *sys.argv[1:]], stdout=subprocess.PIPE)
	late = [time.time() - float(line.split()[2]) for line in curl.stdout if line.startswith(b"data")]
	print(len(late), "prompt" if late and sorted(late)[7] < 0.05 else late)
EOF
for how in --http1.1 --http2; do
	expect 0 '10 prompt' inside /usr/bin/python3 "$E2E/sse.py" $how 'https://h2.test/sse?n=10&ms=60'
	expect 0 '10 prompt' inside /usr/bin/python3 "$E2E/sse.py" $how --compressed 'https://h2.test/sse-gzip?n=10&ms=60'
done
cat >"$E2E/reader.py" <<-'EOF'
	import time, urllib.request
	late = [time.time() - float(line.split()[2]) for line in urllib.request.urlopen(
	    "https://h2.test/sse?n=10&ms=60") if line.startswith(b"data")]
	print(len(late), "prompt" if sorted(late)[7] < 0.05 else late)
EOF
expect 0 '10 prompt' inside /usr/bin/python3 "$E2E/reader.py"
verified
