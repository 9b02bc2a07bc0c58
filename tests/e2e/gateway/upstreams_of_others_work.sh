#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# squid and tinyproxy as forward proxies, where they are installed, and the test's own: by address and by
# name, TLS and plain HTTP, right and wrong password.
. "$(dirname "$0")/../lib.sh"
printf 'jo:%s\n' "$(openssl passwd -apr1 secret)" >"$E2E/pw" && mkdir -m 777 "$E2E/run"
printf '%s\n' 'Port 3141' 'Listen 127.0.0.1' 'BasicAuth jo secret' >"$E2E/tinyproxy.conf"
cat >"$E2E/squid.conf" <<-EOF
	http_port 127.0.0.1:3142
	auth_param basic program /usr/lib/squid/basic_ncsa_auth $E2E/pw
	acl known proxy_auth REQUIRED
	http_access allow known
	http_access deny all
	cache deny all
	dns_nameservers $RESOLVER
	pid_filename $E2E/run/squid.pid
	access_log none
	cache_log $E2E/run/cache.log
EOF
forward serve
ports=3140
start() { nsenter --net="/run/netns/$HOST_NS" "$@" >/dev/null 2>&1 & }
command -v tinyproxy >/dev/null && start tinyproxy -d -c "$E2E/tinyproxy.conf" && ports+=' 3141'
command -v squid >/dev/null && start squid -N -f "$E2E/squid.conf" && ports+=' 3142'
for port in $ports; do
	eventually on_host bash -c "</dev/tcp/127.0.0.1/$port"
	for connect in address name; do
		# the others resolve by the machine's own resolver
		[ $connect = address ] || [ $port = 3142 ] || continue
		policy <<<"{upstream: {corp: {url: 'http://127.0.0.1:$port', connect: $connect, username: jo,
			password: secret}}, rules: [{allow: .pkg.test, transport: upstream}]}"
		expect 0 hello inside curl -sS --max-time 8 -4 --cacert "$CA" https://a.pkg.test/
		expect 0 hello inside curl -sS --max-time 8 http://a.pkg.test/
	done
	sed -i 's/secret/wrong/' "$E2E/policy.yaml"
	[ $port = 3140 ] || expect 0 'answered 40[17].* 502' inside curl -sS --max-time 8 \
		-w ' %{http_code}' http://a.pkg.test/
done
verified
