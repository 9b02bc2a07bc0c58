#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# HEAD, 204, 304, 103, redirects, forms, repeated and empty fields, cookies in crumbs, long fields,
# many at a time, a client that leaves early: the same over both versions.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: h2.test, inspect: true}]}'
cat >"$E2E/each.sh" <<-'EOF'
	get() { curl -sS --max-time 9 --suppress-connect-headers $how "$@"; }
	for how in --http1.1 --http2; do
	    get -I 'https://h2.test/big?n=1000' | grep -i 'content-length: 1000'
	    get -i https://h2.test/no-content | head -n 1
	    get -i https://h2.test/not-modified | grep -i 'etag'
	    get -i https://h2.test/hints | grep -E '103|preload|hinted'
	    get -i https://h2.test/many-headers | grep -iE 'set-cookie|vary|x-empty|many'
	    get -L "https://h2.test/redirect?to=/headers" | grep -c user-agent
	    get -H 'X-Empty;' -H "X-Long: $(head -c 12000 /dev/zero | tr '\0' a)" https://h2.test/headers | wc -c
	    get -F "f=@/etc/hostname" https://h2.test/upload | wc -w
	    get -X PATCH -d x=1 https://h2.test/upload | cut -d' ' -f1
	    get --max-time 40 --parallel-max 100 -Z $(seq -f 'https://h2.test/x?n=%g' 120) 2>/dev/null | grep -c hello
	    get 'https://h2.test/big?n=100000000' 2>/dev/null | head -c 1000 | wc -c
	    get 'https://h2.test/big?n=1000' | wc -c
	done
EOF
inside bash "$E2E/each.sh" | tr -d '\r' | tr 'A-Z' 'a-z' | sed 's/^http\/[12.]* \([0-9]*\).*/\1/; s/: $/:/' >"$E2E/out"
half=$(($(wc -l <"$E2E/out") / 2))
[ $half = 20 ] || fail "$half lines: $(cat "$E2E/out")"
diff <(head -n $half "$E2E/out") <(tail -n $half "$E2E/out") >&2 || fail "the versions differ"
for line in 204 103 'set-cookie: c=3; path=/' x-empty: 120 1000 many; do
	grep -qx "$line" "$E2E/out" || fail "no $line: $(cat "$E2E/out")"
done
expect 0 '"cookie":"a=1; b=2"' inside $INTLS http2 h2.test :method=GET :scheme=https :authority=h2.test :path=/headers \
	cookie=a=1 cookie=b=2
verified
