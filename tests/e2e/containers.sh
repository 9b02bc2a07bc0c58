# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The words of scenarios with container runtimes, on top of lib.sh. Sandboxes are named by annotation;
# their logs are where nej puts them by default.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
AUDIT=/var/log/nej/$NAME.jsonl
BUNDLE=$E2E/bundle
# Policies are files of the scenario's folder, by name or path.
export NEJ NEJ_HOOK="--policies $E2E"
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
	for path in "/sys/fs/bpf/nej/$name" "/run/nej/$name" "/run/nej/$name.sock" /run/nej/.oci/"$ID"-*; do
		[ ! -e "$path" ] || fail "$path stays"
	done
	! pgrep -fx "nej worker $name" || fail "a worker stays"
}

# refused WHY KEY=VALUE...: such a container never runs, and its runtime says why
refused() {
	local why=$1
	shift
	bundle "$@" -- echo it runs
	[ ! -e "$E2E/open.yaml" ] || cp -p "$E2E/open.yaml" "$BUNDLE/rootfs/"
	runtime runc run --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 && fail "it started: $*"
	! grep -qE 'it runs|hunter2' "$E2E/out" || fail "$*: $(cat "$E2E/out")"
	grep -qE "$why" "$E2E/out" || fail "not $why: $(cat "$E2E/out")"
	nothing_stays "$NAME"
}

# starts KEY=VALUE...: such a container does
starts() {
	bundle "$@" -- echo it runs
	runtime runc run --bundle "$BUNDLE" "$ID" >"$E2E/out" 2>&1 || fail "$*: $(cat "$E2E/out")"
	grep -q 'it runs' "$E2E/out" || fail "$*: $(cat "$E2E/out")"
	nothing_stays
}
