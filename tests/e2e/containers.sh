# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The words of scenarios with container runtimes, on top of lib.sh. Sandboxes are named by annotation;
# their logs are where nej puts them by default.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
AUDIT=/var/log/nej/$NAME.jsonl
BUNDLE=$E2E/bundle
export NEJ
AT_END+=('rm -f /var/log/nej/"$NAME"*')
# before_end CMD: also at the end, before the log goes
before_end() { AT_END=("$1" "${AT_END[@]}"); }
echo "nameserver $RESOLVER" >"$E2E/resolv.conf"

# runtime PROGRAM...: as an engine on the host would, with the world's resolver.
runtime() {
	on_host unshare -m bash -c "mount --bind '$E2E/resolv.conf' /etc/resolv.conf && cd '$E2E' && exec \"\$@\"" \
		runtime "$@" </dev/null
}

# bundle KEY=VALUE... -- COMMAND...: a container of busybox, with only lo, in a cgroup of its own
bundle() {
	/usr/bin/python3 "$E2E_SHARED/bin/bundle.py" "$BUNDLE" "/nej-$ID" "$@"
}

# nothing_stays [NAME]: no trace of a sandbox that came by a hook
nothing_stays() {
	local name=${1:-$NAME}
	for path in "/sys/fs/bpf/nej/$name" "/run/nej/$name" "/run/nej/$name.sock" "/run/nej/.oci/$ID"; do
		[ ! -e "$path" ] || fail "$path stays"
	done
	! pgrep -fx "nej worker $name" || fail "a worker stays"
}
