#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the sandbox signs with its placeholder goes up signed with the true key, in every form.
. "$(dirname "$0")/../lib.sh"
RUN=(--ca "$CA")
export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEXAMPLETOKEN==
export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
echo "$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY" >"$E2E/www/aws-key"
policy <<-'EOF2'
	version: 1
	rules: [allow: gh.test]
	secrets:
	  AWS_ACCESS_KEY_ID: {env: AWS_ACCESS_KEY_ID, for: [gh.test]}
	  AWS_SESSION_TOKEN: {env: AWS_SESSION_TOKEN, for: [gh.test]}
	  AWS_SECRET_ACCESS_KEY: {env: AWS_SECRET_ACCESS_KEY, for: [gh.test], sign: aws-v4, key_id: AWS_ACCESS_KEY_ID}
EOF2
forms='hash unsigned body presigned chunks'
right='^hash 200 right.unsigned 200 right.body 200 right.presigned 200 right.chunks 200 right'
expect 0 "$right" inside /usr/bin/python3 "$E2E_SHARED/bin/aws.py" $forms
audit 5 event=secret_injected host=gh.test detail=AWS_SECRET_ACCESS_KEY
audit 4 event=secret_injected host=gh.test detail=AWS_SESSION_TOKEN
# curl signs too, in its own way
expect 0 '^right' inside sh -c 'curl -sS --aws-sigv4 aws:amz:eu-north-1:s3 \
	-u "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" https://gh.test/aws/curl?x=1'
verified
