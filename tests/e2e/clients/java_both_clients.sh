#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Java's HttpClient (HTTP/2) and HttpsURLConnection, which read no PEM file and no proxy variable.
WORLD_WITHOUT=443 . "$(dirname "$0")/../lib.sh"
http2_origin
RUN=(--ca "$CA")
policy <<<'{version: 1, rules: [allow: "GET https://h2.test/ok/**"]}'
expect 0 '200 HTTP_2 hello.*200 URLConnection hello' inside java -cp "$E2E_SHARED/bin" Get https://h2.test/ok/x
expect ! '403 HTTP_2' inside java -cp "$E2E_SHARED/bin" Get https://h2.test/no
world kind=http proto=h2 path=/ok/x
none_world kind=http path=/no
verified
