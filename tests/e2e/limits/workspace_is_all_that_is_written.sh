#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --workspace: files are written there, in --write and in a /tmp of its own; no link, rename, descriptor
# or /proc path leads elsewhere. Credentials of the user's home are not found, but those that are named.
. "$(dirname "$0")/../lib.sh"
policy <<<'{version: 1, rules: []}'
HERE=$E2E/own WORK=$E2E/own/work
mkdir -p "$WORK" "$HERE/.ssh" "$HERE/.aws" "$HERE/.config/gh" "$HERE/free" "$WORK/.kube"
for file in .ssh/id .aws/credentials .config/gh/hosts.yml .netrc .npmrc .bashrc .bash_history; do echo "secret $file" >"$HERE/$file"; done
echo inside >"$HERE/passed" && ln -s "$HERE/.bashrc" "$WORK/link" && chown -R 4242:4242 "$HERE"
{ cat /etc/passwd && echo "worker:x:4242:4242::$HERE:/bin/bash"; } >"$E2E/passwd"
# worker OPTION... -- CMD: as a user with that home
worker() {
	unshare -m bash -c "mount --bind '$E2E/passwd' /etc/passwd && exec \"\$@\"" worker "$NEJ" run -u worker \
		-p "$E2E/policy.yaml" -n "$NAME" --audit "$AUDIT" "$@"
}
as() { worker --workspace "$WORK" --write "$HERE/free" --read "$HERE/.npmrc" -- bash -c "$1"; }
expect 0 'done' as "cd $WORK && mkdir -p a/b && echo x >a/b/c && mv a/b/c d && ln d e && rm e && echo y >>d &&
	echo z >/tmp/$ID && echo z >/dev/shm/$ID && echo z >$HERE/free/f && echo z >/dev/null && ls /tmp && echo done"
[ "$(cat "$WORK/d")" = $'x\ny' ] && [ -e "$HERE/free/f" ] && [ ! -e "/tmp/$ID" ] && [ ! -e "/dev/shm/$ID" ] || fail "not what was written"
for try in "echo x >$HERE/new" "echo x >>$HERE/.bashrc" "echo x >>$WORK/link" "rm $HERE/.bashrc" "mkdir $HERE/n" \
	"mv $WORK/d $HERE/d" "ln $HERE/.bashrc $WORK/h" "chmod 777 $HERE/.bashrc" "truncate -s 0 $HERE/.bashrc" "mv $HERE/free $HERE/gone" \
	"touch $HERE/.bashrc" "echo x >/proc/self/root$HERE/new" "echo x >/proc/1/root$HERE/new" "echo x >/proc/self/cwd/../new" \
	"exec 5<$HERE/.bashrc; echo x >/proc/self/fd/5" "ln -s x $HERE/s" "mkfifo $HERE/p" "unshare -Urm mount -o remount,rw,bind /" \
	"echo x >/run/nej/passwd" "echo x >/var/lib/misc/x" "mount -t tmpfs t $HERE"; do
	expect ! '' as "cd $WORK && $try"
done
[ "$(cat "$HERE/.bashrc")" = 'secret .bashrc' ] && [ ! -e "$HERE/new" ] || fail "something was written"
expect 0 'secret .bashrc' as "cat $HERE/.bashrc"
expect 0 'secret .npmrc' as "cat $HERE/.npmrc"
finds_nothing() { "$@" >"$E2E/found" 2>&1 || true; ! grep -q secret "$E2E/found" || fail "$(cat "$E2E/found")"; }
finds_nothing as "cat $HERE/.ssh/* $HERE/.aws/* $HERE/.config/gh/* $HERE/.netrc $HERE/.bash_history"
finds_nothing worker --workspace "$HERE" -- bash -c 'cd; cat .ssh/id; mv .ssh x; rm -rf .aws; mv .config .c; cat x/id .c/gh/hosts.yml .aws/credentials'
[ -e "$HERE/.aws/credentials" ] || fail "a hidden file was removed"
expect 2 'no folder' worker --workspace "$HERE/.bashrc" -- true
expect 2 'work alone' worker --workspace / -- true
expect 2 'may not write there' worker --workspace /etc -- true
expect 2 'go with --workspace' worker --write /srv -- true
audit event=sandbox_started "workspace=$WORK"
