#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# An origin that tells what it was told: the client reads the placeholder, in every form.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
policy <<<'{version: 1, rules: [allow: gh.test], secrets: {GH: {env: GH, for: [gh.test]}}}'
for form in plain gzip deflate bare json percent base64 base64x base64xx hex chunked header; do
	url=https://gh.test/echo/$form
	expect 0 '.' inside bash -c "curl -sSi --raw --compressed --max-time 5 -H \"Authorization: token \$GH\" $url"
	inside bash -c "curl -sSi --compressed --max-time 5 -H \"Authorization: token \$GH\" $url" \
		>"$E2E/out.$form" 2>&1 || fail "$form: $(cat "$E2E/out.$form")"
	world kind=http path="/echo/$form" "headers.authorization=token $GH"
done
/usr/bin/python3 - "$E2E" "$GH" <<-'EOF2'
	import base64, glob, re, sys, urllib.parse
	value = sys.argv[2].encode()
	forms = [value, value.hex().encode(), urllib.parse.quote(value).encode()]
	forms += [base64.b64encode(b"x" * n + value)[4:50] for n in range(3)]
	forms += [form.replace(b"/", b"_").replace(b"+", b"-") for form in forms]
	for path in glob.glob(sys.argv[1] + "/out.*"):
	    text = open(path, "rb").read()
	    text += re.sub(rb"\\u00(..)", lambda m: bytes.fromhex(m.group(1).decode()), text)
	    text += urllib.parse.unquote_to_bytes(text)
	    assert not [form for form in forms if form in text], (path, text)
	    assert b"ghp_" in text or b"xxxxxx" in text or "base64" in path or "hex" in path, (path, text)
EOF2
expect 0 '^502' inside bash -c "curl -sS -o /dev/null -w '%{http_code}' -H \"Authorization: token \$GH\" https://gh.test/echo/br"
expect 0 '403' inside bash -c "curl -sS -o /dev/null -w '%{http_code}' -X TRACE https://gh.test/"
audit event=secret_reflected host=gh.test detail=GH
none_world kind=http method=TRACE
none_world kind=http "headers.accept-encoding=~br"
verified
