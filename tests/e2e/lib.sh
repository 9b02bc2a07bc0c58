# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What every scenario begins with: two network namespaces, the host (nej is started from it; its
# default route leads to the other) and the internet, where servers/world.py answers on every
# address and writes down all it sees. Then the words scenarios are written in. Read README.md.
set -euo pipefail

: "${NEJ:?run scenarios with tests/run e2e}" "${E2E_SHARED:?}"
E2E=$(mktemp -d /var/cache/nej-e2e/run.XXXXXX)
echo $$ >"$E2E/pid"
chmod 755 "$E2E"
ID=$(basename "$E2E" | tr -dc 'a-zA-Z0-9')
HOST_NS=nej-h-$ID
NET_NS=nej-i-$ID
NAME=e2e-$ID
AUDIT=$E2E/audit.jsonl
CANARY=canary-$ID-$RANDOM$RANDOM
CLIENT="/usr/bin/python3 $E2E_SHARED/bin/client.py"
INTLS="/usr/bin/python3 $E2E_SHARED/bin/intls.py"
CA=$E2E_SHARED/ca.pem
mkdir -p "$E2E/www"
# Addresses of the internet: ordinary global ones, which exist in these namespaces only.
OK4=93.184.216.34 OK6=2606:2800:220:1::34
PKG4=151.101.64.223 PKG6=2a04:4e42::223
EVIL4=45.33.32.156 EVIL6=2600:3c01::156
RESOLVER=9.9.9.9
export E2E E2E_SHARED CANARY OK4 OK6 PKG4 PKG6 EVIL4 EVIL6 RESOLVER AUDIT CA CLIENT INTLS NAME
declare -a RUN=()
# More commands for the end, each one word of the array.
declare -a AT_END=()
# The machine's own trust and proxy settings must not decide a scenario.
unset SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy

cleanup() {
	local status=$?
	trap - EXIT TERM INT
	for act in "${AT_END[@]}"; do
		eval "$act" || true
	done
	for pid in $(ip netns pids "$HOST_NS" 2>/dev/null) $(ip netns pids "$NET_NS" 2>/dev/null); do
		[ "$pid" = $$ ] || kill -KILL "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	ip netns del "$HOST_NS" 2>/dev/null || true
	ip netns del "$NET_NS" 2>/dev/null || true
	if [ $status -ne 0 ] && [ $status -ne 77 ]; then
		echo "--- audit" && tail -n 30 "$AUDIT" 2>/dev/null | cut -c1-400
		echo "--- world" && grep -v '"kind": "packet"' "$E2E/world.log" 2>/dev/null | tail -n 30 | cut -c1-300
	fi
	rm -rf "$E2E"
	exit $status
}
trap cleanup EXIT
trap 'exit 143' TERM INT

on_host() { nsenter --net="/run/netns/$HOST_NS" "$@"; }
on_internet() { nsenter --net="/run/netns/$NET_NS" "$@"; }

make_world() {
	ip netns add "$HOST_NS"
	ip netns add "$NET_NS"
	ip -n "$HOST_NS" link add eth0 type veth peer name eth0 netns "$NET_NS"
	local ns
	for ns in "$HOST_NS" "$NET_NS"; do
		on_ns_quiet_ipv6 "$ns"
		ip -n "$ns" link set lo up
		ip -n "$ns" link set eth0 up
	done
	ip -n "$HOST_NS" addr add 172.30.0.2/30 dev eth0
	ip -n "$NET_NS" addr add 172.30.0.1/30 dev eth0
	ip -n "$HOST_NS" -6 addr add 2a0e:b107:1::2/64 dev eth0 nodad
	ip -n "$NET_NS" -6 addr add 2a0e:b107:1::1/64 dev eth0 nodad
	ip -n "$HOST_NS" route add default via 172.30.0.1
	ip -n "$HOST_NS" -6 route add default via 2a0e:b107:1::1
	# Every address there is answers in the internet.
	ip -n "$NET_NS" route add local 0.0.0.0/0 dev lo table main
	ip -n "$NET_NS" -6 route add local ::/0 dev lo table main
	cp "$E2E_SHARED/zone" "$E2E/zone"
	on_internet /usr/bin/python3 "$E2E_SHARED/servers/world.py" "$E2E" "$E2E_SHARED" \
		>"$E2E/world.out" 2>&1 &
	wait_for "$E2E/world.ready" || { cat "$E2E/world.out" && exit 1; }
}

on_ns_quiet_ipv6() {
	nsenter --net="/run/netns/$1" sh -c 'for f in /proc/sys/net/ipv6/conf/*/accept_dad; do
		echo 0 >$f; done 2>/dev/null' || true
}

# http2_origin [only]: on port 443, which world.py must leave free (WORLD_WITHOUT=443), HTTP/2 and,
# unless `only`, HTTP/1.1
http2_origin() {
	on_internet node "$E2E_SHARED/servers/http2.js" "$E2E" "$E2E_SHARED" 443 "$@" >"$E2E/http2.out" 2>&1 &
	wait_for "$E2E/http2.ready" || { cat "$E2E/http2.out" && exit 1; }
}

# rpc_origin: a gRPC server there instead
rpc_origin() {
	on_internet /usr/bin/python3 "$E2E_SHARED/bin/rpc.py" serve 443 "$E2E" "$E2E_SHARED" >"$E2E/rpc.out" 2>&1 &
	wait_for "$E2E/rpc.ready" || { cat "$E2E/rpc.out" && exit 1; }
}

# wait_for FILE: until it exists, 10 s at most
wait_for() {
	local try
	for try in $(seq 200); do
		[ -e "$1" ] && return 0
		sleep 0.05
	done
	echo "$1 did not come in $((try / 20)) s"
	return 1
}

# eventually CMD...: until it succeeds, 10 s at most
eventually() {
	local try
	for try in $(seq 100); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "still not so after $((try / 10)) s: $*"
	return 1
}

# policy < YAML; zone < lines `NAME TYPE DATA`, which go before the standing ones (servers/dns.py)
policy() { cat >"$E2E/policy.yaml"; }
zone() { cat - "$E2E_SHARED/zone" >"$E2E/zone.new" && mv "$E2E/zone.new" "$E2E/zone"; }

# inside CMD...: the command under the policy; more options of run in the array RUN
inside() {
	on_host "$NEJ" run -p "$E2E/policy.yaml" -n "$NAME" --audit "$AUDIT" \
		--resolver "$RESOLVER" "${RUN[@]}" -- "$@"
}

fail() {
	echo "FAILED: $*"
	exit 1
}

# expect STATUS PATTERN CMD...: exit status (a number, or ! for any but 0) and a regular expression
# that the output, both streams, must match
expect() {
	local want=$1 pattern=$2 status=0 output
	shift 2
	output=$("$@" 2>&1 </dev/null) || status=$?
	if [ "$want" = ! ]; then
		[ $status -ne 0 ] || fail "succeeded: $*: $output"
	elif [ "$want" -ne "$status" ]; then
		fail "exit status $status, not $want: $*: $output"
	fi
	grep -qEz -- "$pattern" <<<"$output" || fail "output is not like '$pattern': $*: $output"
}

# within MS CMD...: it must end in time, however it ends
within() {
	local ms=$1 begin
	shift
	begin=$(date +%s%3N)
	"$@" || true
	local took=$(($(date +%s%3N) - begin))
	[ $took -le "$ms" ] || fail "took $took ms, not $ms: $*"
}

# audit [COUNT] KEY=VALUE...: so many records (default: at least one) have all of these; world: the
# same of what the internet saw. A value may be ~REGEX. `none_` forms: no such record.
audit() { /usr/bin/python3 "$E2E_SHARED/bin/records.py" "$AUDIT" "$@" || exit 1; }
none_audit() { audit 0 "$@"; }
world() { /usr/bin/python3 "$E2E_SHARED/bin/records.py" "$E2E/world.log" "$@" || exit 1; }
none_world() { world 0 "$@"; }

# The oracle of every bypass: nothing at all came to the evil addresses, the canary nowhere.
evil_saw_nothing() {
	none_world kind=packet "dst=~^($EVIL4|$EVIL6)$"
	none_world kind=canary
}

# The chain of the log must always hold.
verified() { "$NEJ" verify "$AUDIT" >"$E2E/verify.out" 2>&1 || fail "$(cat "$E2E/verify.out")"; }

# forward DOES [FOLDER]: somebody else's forward proxy on the host's loopback, port 3140, see
# servers/forward.py; forwarded: as audit, of what it was asked
forward() {
	nsenter --net="/run/netns/$HOST_NS" /usr/bin/python3 "$E2E_SHARED/servers/forward.py" \
		"$1" "$E2E" ${2:+"$2"} &
	FORWARD=$!
	wait_for "$E2E/forward.ready"
}
forwarded() { /usr/bin/python3 "$E2E_SHARED/bin/records.py" "$E2E/forward.log" "$@" || exit 1; }
none_forwarded() { forwarded 0 "$@"; }

# tenant NAME < YAML: a sandbox of the gateway's; its password is the-password-of-NAME
tenant() {
	mkdir -p "$E2E/policies" && chmod 700 "$E2E/policies"
	(umask 077 && printf 'the-password-of-%s\n' "$1" >"$E2E/policies/$1.secret")
	(umask 077 && cat >"$E2E/policies/$1.new") && mv "$E2E/policies/$1.new" "$E2E/policies/$1.yaml"
}
# gateway [OPTION...]: at 172.30.0.2:3140; at_gateway NAME[:PASSWORD] CURL-ARG...: curl through it;
# gate: as audit, of its log
gateway() {
	nsenter --net="/run/netns/$HOST_NS" "$NEJ" gateway --listen 172.30.0.2:3140 --policies "$E2E/policies" \
		--audit "$E2E/gateway.jsonl" --resolver "$RESOLVER" "$@" >"$E2E/gateway.out" 2>&1 &
	GATEWAY=$!
	eventually grep -q listen= "$E2E/gateway.out" || fail "$(cat "$E2E/gateway.out")"
}
at_gateway() {
	local user=$1
	shift
	[[ $user == *:* ]] || user=$user:the-password-of-$user
	on_host curl -sS --max-time 8 -x "http://$user@172.30.0.2:3140" "$@"
}
gate() { AUDIT=$E2E/gateway.jsonl audit "$@"; }
none_gate() { gate 0 "$@"; }

# target: a cgroup that is not nej's, $TARGET; joins CMD...: the command in it; in_target: in the host's
# network namespace too. attach [OPTION...]: nej attach to it, under the policy, until `let_go`
target() {
	TARGET=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/$NAME-target
	mkdir -p "$TARGET"
	AT_END+=('kill $(cat "$TARGET"/cgroup.procs "$TARGET"/*/cgroup.procs 2>/dev/null) 2>/dev/null'
		'sleep 0.2; "$NEJ" detach "$NAME" 2>/dev/null; rmdir "$TARGET"/*/ "$TARGET" 2>/dev/null')
}
joins() { (echo "$BASHPID" >"$TARGET/cgroup.procs" && exec "$@"); }
in_target() { joins nsenter --net="/run/netns/$HOST_NS" "$@"; }
attach() {
	on_host "$NEJ" attach -p "$E2E/policy.yaml" -n "$NAME" --audit "$AUDIT" --resolver "$RESOLVER" \
		--background "$@" >"$E2E/attach.out" 2>&1 || fail "attach: $(cat "$E2E/attach.out")"
}
to_target() { attach --cgroup "$TARGET" "$@"; }
let_go() { "$NEJ" detach "$NAME" || fail "detach: $?"; }

# has FEATURE: a row of nej doctor that this kernel has.
has() {
	"$NEJ" doctor --json | /usr/bin/python3 -c '
import json, sys
sys.exit(not any(r["present"] for r in json.load(sys.stdin) if r["name"] == sys.argv[1]))' "$1"
}
skip() {
	echo "$*"
	exit 77
}

make_world
