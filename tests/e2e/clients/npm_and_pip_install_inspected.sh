#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# npm installs a package from a local registry, pip one from a local index, both inspected.
# timeout: 90
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
mkdir -p "$E2E/package" "$E2E/www/simple/thing" "$E2E/www/files"
echo '{"name": "thing", "version": "1.2.3", "main": "i.js"}' >"$E2E/package/package.json"
echo 'console.log("a thing")' >"$E2E/package/i.js"
tar -C "$E2E" -czf "$E2E/www/files/t.tgz" package
cat >"$E2E/www/thing" <<-EOF
	{"name": "thing", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {"name": "thing", "version": "1.2.3",
	"dist": {"tarball": "https://registry.test/files/t.tgz",
	"integrity": "sha512-$(openssl dgst -sha512 -binary "$E2E/www/files/t.tgz" | base64 -w0)"}}}}
EOF
/usr/bin/python3 - "$E2E/www/files" <<-'EOF'
	import sys, zipfile
	with zipfile.ZipFile(sys.argv[1] + "/thing-1.2.3-py3-none-any.whl", "w") as z:
	    z.writestr("thing.py", "print('a thing')\n")
	    z.writestr("thing-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.2.3\n")
	    z.writestr("thing-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
	    z.writestr("thing-1.2.3.dist-info/RECORD", "thing.py,,\n")
EOF
echo '<a href="/files/thing-1.2.3-py3-none-any.whl">thing-1.2.3-py3-none-any.whl</a>' >"$E2E/www/simple/thing/index.html"
policy <<<'{version: 1, rules: [{allow: registry.test, inspect: true}]}'
npm="env npm_config_update_notifier=false npm_config_fetch_retries=0 npm_config_audit=false npm_config_fund=false npm"
expect 0 'a thing' inside bash -c "export HOME=\$(mktemp -d); cd \$HOME && $npm --registry https://registry.test/ install thing &&
	node -e 'require(\"thing\")'; s=\$?; rm -rf \$HOME; exit \$s"
expect 0 'a thing' inside bash -c "export HOME=\$(mktemp -d); cd \$HOME && /usr/bin/python3 -m pip install -q --no-cache-dir \
	--disable-pip-version-check --index-url https://registry.test/simple/ --target \$HOME/p thing &&
	PYTHONPATH=\$HOME/p /usr/bin/python3 -m thing; s=\$?; rm -rf \$HOME; exit \$s"
audit event=network_allowed "url=https://registry.test/files/t.tgz"
verified
