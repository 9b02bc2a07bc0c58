#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# clone, fetch and push through git's own HTTP backend; a rule opens fetching without pushing.
. "$(dirname "$0")/../lib.sh"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
RUN=(--ca "$CA")
git init -q --bare -b main "$E2E/www/repo.git"
git -C "$E2E/www/repo.git" config http.receivepack true
git init -q -b main "$E2E/tree"
head -c 300000 /dev/urandom >"$E2E/tree/blob"
git -C "$E2E/tree" add blob && git -C "$E2E/tree" commit -q -m first && git -C "$E2E/tree" push -q "$E2E/www/repo.git" main
cat >"$E2E/use.sh" <<-'EOF'
	set -e
	cd "$(mktemp -d)"
	git clone -q https://git.test/git/repo.git r
	cd r
	git log --format=%s
	head -c 3000000 /dev/urandom >more && git add more && git commit -q -m second
	git push -q origin main && echo pushed
EOF
policy <<<'{version: 1, rules: [{allow: git.test, inspect: true}]}'
expect 0 'first.*pushed' inside bash "$E2E/use.sh"
expect 0 second git -C "$E2E/www/repo.git" log --format=%s main
policy <<-'EOF'
	version: 1
	rules:
	  - allow: ["GET https://git.test/git/repo.git/info/refs", "POST https://git.test/git/repo.git/git-upload-pack"]
EOF
expect ! 'second.*403' inside bash "$E2E/use.sh"
none_world kind=http path=~evil
audit event=network_blocked "url=https://git.test/git/repo.git/git-receive-pack"
verified
