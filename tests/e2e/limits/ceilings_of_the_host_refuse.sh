#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# /etc/nej/nej.yaml: a request over a ceiling is refused with both numbers, never clipped; a default holds
# where nothing is asked; a file with a mistake, or that others may write, starts nothing.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
[ -d /etc/nej ] || { mkdir /etc/nej && AT_END+=('rmdir /etc/nej'); }
mkdir "$E2E/etc"
# under WORDS...: nej run with the file, in a mount namespace of this scenario's own
under() { unshare -m bash -c "mount --bind '$E2E/etc' /etc/nej && exec \"\$@\"" under "$NEJ" run -p "$E2E/policy.yaml" -n "$NAME" --audit "$AUDIT" "$@"; }
cat >"$E2E/etc/nej.yaml" <<-'EOC'
	version: 1
	defaults: {grace: 5s}
	ceilings: {idle: 30m, memory: 1G}
EOC
expect 2 '--idle 1h is over this host.s ceiling of 30m' under --idle 1h -- true
expect 2 '--memory 2G is over this host.s ceiling of 1G' under --memory 2G -- true
sed -i 's/, memory: 1G//' "$E2E/etc/nej.yaml"
expect 0 '' under --idle 29m -- true
audit event=sandbox_started idle=29m grace=5s
expect 0 '' under -- true
audit event=sandbox_started idle=30m grace=5s
echo 'ceilings: {idel: 30m}' >>"$E2E/etc/nej.yaml"
expect 2 'nej.yaml:4:.*error' under -- true
printf 'version: 1\nceilings: {idel: 30m}\n' >"$E2E/etc/nej.yaml"
expect 2 'nej.yaml:2:12: error: unknown key .idel.' under -- true
: >"$E2E/etc/nej.yaml"
expect 0 '' under --idle 2h -- true
chmod 666 "$E2E/etc/nej.yaml"
expect 2 'not root.s alone' under -- true
verified
