#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Downloads, uploads (with a length, chunked, with 100-continue), several at a time and one slow:
# every byte arrives, and the worker's memory stays small.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [{allow: h2.test, inspect: true}]}'
head -c 20000000 /dev/urandom >"$E2E/blob"
sum=$(sha256sum <"$E2E/blob" | cut -d' ' -f1)
cat >"$E2E/all.sh" <<-'EOF'
	get() { curl -sS --max-time 60 "$@"; }
	for how in --http1.1 --http2; do
	    get $how -T "$E2E/blob" https://h2.test/upload
	    get $how -T - https://h2.test/upload <"$E2E/blob"
	    get $how -H 'Expect: 100-continue' -T "$E2E/blob" https://h2.test/upload
	    get $how -o /dev/null -w '%{size_download}\n' 'https://h2.test/big?n=50000000'
	    get $how --limit-rate 3M -o /dev/null -w '%{size_download}\n' 'https://h2.test/big?n=5000000' &
	    get $how -Z $(printf 'https://h2.test/big?n=3000000 -o /dev/null %.0s' 1 2 3 4 5 6) -w '%{size_download}\n'
	    wait
	done
EOF
inside bash "$E2E/all.sh" >"$E2E/out" &
run=$!
peak=0
while kill -0 $run 2>/dev/null; do
	for pid in $(ip netns pids "$HOST_NS"); do
		grep -qz worker "/proc/$pid/cmdline" 2>/dev/null || continue
		now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || continue
		peak=$((${now:-0} > peak ? ${now:-0} : peak))
	done
	sleep 0.2
done
wait $run || fail "$(cat "$E2E/out")"
for want in "6 20000000 $sum" "2 50000000" "12 3000000" "2 5000000"; do
	[ "$(grep -c "^${want#* }$" "$E2E/out")" = "${want%% *}" ] || fail "$want: $(cat "$E2E/out")"
done
[ "$peak" -gt 1000 ] && [ "$peak" -lt 60000 ] || fail "the worker took $peak KiB"
none_audit event=network_blocked
verified
