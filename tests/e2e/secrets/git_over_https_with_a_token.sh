#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# git clone with the token in the URL, in a header and from a helper: Basic credentials hold the value.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
export GH=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB
git init -q --bare "$E2E/www/private/repo.git"
git init -q "$E2E/work"
git -C "$E2E/work" -c user.name=t -c user.email=t@t commit -q --allow-empty -m first
git -C "$E2E/work" push -q "$E2E/www/private/repo.git" HEAD:refs/heads/main
git -C "$E2E/www/private/repo.git" symbolic-ref HEAD refs/heads/main
git -C "$E2E/www/private/repo.git" update-server-info
policy <<<'{version: 1, rules: [allow: git.test, {allow: gh.test, inspect: true}], secrets: {GH: {env: GH, for: [git.test]}}}'
clone='cd $(mktemp -d) && git clone -q'
expect 0 first inside bash -c "$clone https://me:\$GH@git.test/private/repo.git r && git -C r log"
expect 0 first inside bash -c "$clone https://\$GH:x-oauth-basic@git.test/private/repo.git r && git -C r log"
expect 0 first inside bash -c "$clone -c http.extraHeader=\"Authorization: Bearer \$GH\" https://git.test/private/repo.git r && git -C r log"
expect 0 first inside bash -c "$clone -c credential.helper='!f() { echo username=me; echo password=\$GH; }; f' https://git.test/private/repo.git r && git -C r log"
expect ! '401|Authentication|could not read' inside bash -c "$clone https://git.test/private/repo.git r"
expect ! '403' inside bash -c "$clone https://me:\$GH@gh.test/private/repo.git r"
audit event=secret_injected host=git.test detail=GH
none_world kind=http host=gh.test headers.authorization=~Basic
verified
