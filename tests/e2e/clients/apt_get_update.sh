#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A small repository of the test's own, by http; a source that no rule allows fails fast.
. "$(dirname "$0")/../lib.sh"
mkdir -p "$E2E/www/debian" "$E2E/apt"
: >"$E2E/www/debian/Packages"
printf 'Origin: test\nSHA256:\n %s 0 Packages\n' "$(sha256sum </dev/null | cut -d' ' -f1)" >"$E2E/www/debian/Release"
echo 'deb [trusted=yes] http://registry.test/debian ./' >"$E2E/apt/good.list"
echo 'deb [trusted=yes] http://evil.test/debian ./' >"$E2E/apt/bad.list"
update() {
	inside bash -c "d=\$(mktemp -d); mkdir -p \$d/lists/partial \$d/cache/archives/partial; touch \$d/status
		apt-get -o Dir::State=\$d -o Dir::State::status=\$d/status -o Dir::Cache=\$d/cache -o Debug::NoLocking=1 \
		-o Dir::Etc::sourcelist=$E2E/apt/$1.list -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User= \
		-o Dir::Etc::trustedparts=/dev/null -o Acquire::Retries=0 -o APT::Update::Error-Mode=any update"
}
policy <<<'{version: 1, rules: [allow: registry.test]}'
expect 0 'registry.test' update good
world kind=http host=registry.test path=/debian/./Release
expect ! '403' update bad
evil_saw_nothing
verified
