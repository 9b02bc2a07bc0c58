#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# npm against a registry of the test's own, over https.
# timeout: 90
. "$(dirname "$0")/../lib.sh"
cat >"$E2E/www/thing" <<-'EOF'
	{"name": "thing", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {"name": "thing",
	"version": "1.2.3", "description": "a thing", "dist": {"tarball": "https://registry.test/t.tgz"}}}}
EOF
view() {
	inside env HOME=/tmp npm_config_cache=/tmp/npm-"$ID" npm_config_cafile="$CA" npm_config_fetch_retries=0 \
		npm_config_update_notifier=false npm --registry "https://$1/" view thing version
}
policy <<<'{version: 1, rules: [allow: registry.test]}'
expect 0 '1\.2\.3' view registry.test
world kind=http host=registry.test path=/thing
expect ! . view evil.test
evil_saw_nothing
rm -rf "/tmp/npm-$ID"
verified
