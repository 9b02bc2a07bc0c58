#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A request that the placeholder did not sign is not signed for it: it passes as it came.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
echo "$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY" >"$E2E/www/aws-key"
policy <<-'EOF2'
	version: 1
	rules: [allow: gh.test]
	secrets: {AWS_SECRET_ACCESS_KEY: {env: AWS_SECRET_ACCESS_KEY, for: [gh.test], sign: aws-v4, key_id: AWS_ACCESS_KEY_ID}}
EOF2
wrong='^hash 403 signature.unsigned 403 signature.body 403 signature.presigned 403 signature.chunks 403 signature'
expect 0 "$wrong" inside env WRONG_KEY=guessed "AWS_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID" \
	/usr/bin/python3 "$E2E_SHARED/bin/aws.py" hash unsigned body presigned chunks
none_audit event=secret_injected
# the placeholder itself is never sent anywhere, and what cannot be signed is said so
expect 0 '^403 503 503 413' inside sh -c 'ask() { curl -sS -o /dev/null -w "%{http_code} " "$@"; }
	ask https://gh.test/ -H "X: $AWS_SECRET_ACCESS_KEY"
	ask https://gh.test/ -H "Authorization: AWS4-ECDSA-P256-SHA256 Credential=x"
	ask "https://gh.test/?X-Amz-Algorithm=AWS4-ECDSA-P256-SHA256"
	head -c 9000000 /dev/zero | ask https://gh.test/ -H "X-Amz-Date: 20130524T000000Z" --data-binary @- \
		-H "Authorization: AWS4-HMAC-SHA256 Credential=A/20130524/r/iam/aws4_request, SignedHeaders=host, Signature=$(printf %064d 0)"'
audit reason=placeholder-leak host=gh.test
audit 2 reason=secret-unavailable "detail=~SigV4A"
audit status=413 "detail=~x-amz-content-sha256"
verified
