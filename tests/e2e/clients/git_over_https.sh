#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# git clone over https from a bare repository served as files.
. "$(dirname "$0")/../lib.sh"
export GIT_CONFIG_GLOBAL=/dev/null
git init -q --bare "$E2E/www/repo.git"
git init -q "$E2E/work"
git -C "$E2E/work" -c user.name=t -c user.email=t@t commit -q --allow-empty -m first
git -C "$E2E/work" push -q "$E2E/www/repo.git" HEAD:refs/heads/main
git -C "$E2E/www/repo.git" symbolic-ref HEAD refs/heads/main
git -C "$E2E/www/repo.git" update-server-info
policy <<<'{version: 1, rules: [allow: git.test]}'
clone="env GIT_SSL_CAINFO=$CA git clone -q"
expect 0 'first' inside bash -c "cd \$(mktemp -d) && $clone https://git.test/repo.git r && git -C r log"
expect 0 'first' inside env -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY bash -c \
	"cd \$(mktemp -d) && $clone https://git.test/repo.git r && git -C r log"
within 3000 inside bash -c "cd \$(mktemp -d) && $clone https://evil.test/repo.git r"
expect ! '403|resolve' inside bash -c "cd \$(mktemp -d) && $clone https://evil.test/repo.git r"
evil_saw_nothing
verified
