#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# nej cannot show the client's certificate: a 502 that says what to do. Without inspection it works.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
cp "$E2E_SHARED/key.pem" "$E2E/client.key" && chmod 644 "$E2E/client.key"
fetch=(curl -sSi --max-time 5 --cert "$E2E_SHARED/client.pem" --key "$E2E/client.key")
policy <<<'{version: 1, rules: [allow: "gh.test:8444"]}'
expect 0 ' 200 .*hello' inside "${fetch[@]}" --cacert "$CA" https://gh.test:8444/
policy <<<'{version: 1, rules: [{allow: "gh.test:8444", inspect: true}]}'
expect 0 ' 502 .*client certificate' inside "${fetch[@]}" https://gh.test:8444/
audit event=network_failed host=gh.test status=502
world 1 kind=http
verified
