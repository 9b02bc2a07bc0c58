#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Node's fetch and Python's urllib, transparent and through the proxy.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: [allow: api.allowed.test]}'
expect 0 '200 hello' inside env NODE_EXTRA_CA_CERTS="$CA" node "$E2E_SHARED/bin/fetch.js" https://api.allowed.test/
expect 1 'failed (ENOTFOUND|EAI_AGAIN)' inside node "$E2E_SHARED/bin/fetch.js" https://evil.test/
within 2500 inside node "$E2E_SHARED/bin/fetch.js" https://evil.test/
cat >"$E2E/get.py" <<-'EOF'
	import ssl, sys, urllib.request
	context = ssl.create_default_context(cafile=sys.argv[1])
	print(urllib.request.urlopen(sys.argv[2], context=context, timeout=5).read().decode())
EOF
bare="env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY"
expect 0 hello inside /usr/bin/python3 "$E2E/get.py" "$CA" https://api.allowed.test/
expect 0 hello inside $bare /usr/bin/python3 "$E2E/get.py" "$CA" https://api.allowed.test/
expect 1 '403' inside /usr/bin/python3 "$E2E/get.py" "$CA" https://evil.test/
expect 1 'not known|No address' inside $bare /usr/bin/python3 "$E2E/get.py" "$CA" https://evil.test/
verified
