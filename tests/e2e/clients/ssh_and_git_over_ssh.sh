#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ssh by name needs a rule for tcp 22, and then no proxy command.
. "$(dirname "$0")/../lib.sh"
mkdir -p /run/sshd
cp "$E2E_SHARED/keys/ssh.pub" "$E2E/authorized"
cp "$E2E_SHARED/keys/ssh" "$E2E/key" && chmod 644 "$E2E/key"
on_internet /usr/sbin/sshd -f /dev/null -o "HostKey $E2E_SHARED/keys/sshd" -o PidFile=none \
	-o "AuthorizedKeysFile $E2E/authorized" -o StrictModes=no -o UsePAM=no -o PermitRootLogin=yes
git init -q --bare "$E2E/repo.git"
ssh="cp $E2E/key \$HOME/k 2>/dev/null; k=\$(mktemp) && cat $E2E/key >\$k && ssh -i \$k -F /dev/null \
	-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5 -o BatchMode=yes"
policy <<<'{version: 1, rules: [allow: "tcp://git.test:22"]}'
expect 0 'over ssh' inside bash -c "$ssh root@git.test echo over ssh"
expect 0 . inside bash -c "k=\$(mktemp) && cat $E2E/key >\$k && GIT_SSH_COMMAND=\"ssh -i \$k -F /dev/null \
	-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null\" git ls-remote root@git.test:$E2E/repo.git; echo \$?"
audit event=network_allowed host=git.test port=22
policy <<<'{version: 1, rules: [allow: git.test]}'
within 3000 inside bash -c "$ssh root@git.test true"
expect ! . inside bash -c "$ssh root@git.test true"
audit event=network_blocked port=22 layer=kernel
verified
