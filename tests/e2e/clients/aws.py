# SPDX-License-Identifier: GPL-2.0-only
"""AWS Signature Version 4 from both ends: `aws.py FORM...` signs a request of each form with the
key in AWS_SECRET_ACCESS_KEY (or WRONG_KEY), sends it to https://gh.test and prints the statuses;
check() is what the service does, for servers/web.py."""
import hashlib
import hmac
import http.client
import os
import sys
import time
import urllib.parse

HOST, EMPTY = "gh.test", hashlib.sha256(b"").hexdigest()
CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def code(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signer:
    def __init__(self, secret, date, scope):
        self.date, self.scope, self.key = date, scope, b"AWS4" + secret.encode()
        for part in scope.split("/"):
            self.key = code(self.key, part)

    def sign(self, kind, *lines):
        return code(self.key, "\n".join((kind, self.date, self.scope, *lines))).hex()

    def request(self, method, path, query, headers, names, payload):
        """query: pairs as they stand in the request; S3 signs paths as sent, others encoded again."""
        service = self.scope.split("/")[2]
        path = path if service == "s3" else urllib.parse.quote(path, safe="/~")
        text = "\n".join([method, path, "&".join(sorted(query)),
                          *(f"{name}:{' '.join(headers[name].split())}" for name in names), "",
                          ";".join(names), payload])
        return self.sign("AWS4-HMAC-SHA256", sha(text.encode()))

    def chunks(self, last, parts):
        """Each part behind a line with its signature, which follows from the one before."""
        body = b""
        for part in (*parts, b""):
            last = self.sign("AWS4-HMAC-SHA256-PAYLOAD", last, EMPTY, sha(part))
            body += b"%x;chunk-signature=%s\r\n%s\r\n" % (len(part), last.encode(), part)
        return body


def make(form, key_id, secret):
    """A signed request: method, target, headers, body"""
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    service = "dynamodb" if form == "body" else "s3"
    scope = f"{date[:8]}/eu-north-1/{service}/aws4_request"
    body = {"presigned": b"", "chunks": b"c" * 70000}.get(form, b"the body " * 1000)
    headers, query = {"host": HOST, "x-amz-meta-a": "b   c"}, ["x=%2B1", "a"]
    path, signer = f"/aws/{form}//key%20name", Signer(secret, date, scope)
    if form == "presigned":
        token = urllib.parse.quote(f"{key_id}/{scope}", safe="")
        query += ["X-Amz-Algorithm=AWS4-HMAC-SHA256", f"X-Amz-Credential={token}",
                  f"X-Amz-Date={date}", "X-Amz-Expires=60", "X-Amz-SignedHeaders=host"]
        signature = signer.request("GET", path, [q if "=" in q else q + "=" for q in query],
                                   headers, ["host"], "UNSIGNED-PAYLOAD")
        return "GET", f"{path}?{'&'.join(query)}&X-Amz-Signature={signature}", {}, None
    payload = {"unsigned": "UNSIGNED-PAYLOAD", "chunks": CHUNKS}.get(form, sha(body))
    headers["x-amz-date"] = date
    if form != "body":
        headers["x-amz-content-sha256"] = payload
    if "AWS_SESSION_TOKEN" in os.environ:
        headers["x-amz-security-token"] = os.environ["AWS_SESSION_TOKEN"]
    names = sorted(headers)
    signature = signer.request("PUT", path if service == "s3" else path.replace("//", "/"),
                               ["x=%2B1", "a="], headers, names, payload)
    if form == "chunks":
        body = signer.chunks(signature, (body[:65536], body[65536:]))
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, "
                                f"SignedHeaders={';'.join(names)}, Signature={signature}")
    return "PUT", f"{path}?{'&'.join(query)}", headers, body


def check(request, key_id, secret):
    """What is wrong with a request, or an empty text"""
    path, _, query = request.target.partition("?")
    pairs = [pair if "=" in pair else pair + "=" for pair in query.split("&")]
    given = dict(urllib.parse.parse_qsl(query))
    payload = request.headers.get("x-amz-content-sha256", sha(request.body))
    if "X-Amz-Signature" in given:
        pairs = [pair for pair in pairs if not pair.startswith("X-Amz-Signature=")]
        who, date, payload = given["X-Amz-Credential"], given["X-Amz-Date"], "UNSIGNED-PAYLOAD"
        names, signature = given["X-Amz-SignedHeaders"], given["X-Amz-Signature"]
    else:
        parts = request.headers["authorization"].split(" ", 1)[1].split(", ")
        who, names, signature = (part.split("=", 1)[1] for part in parts)
        date = request.headers["x-amz-date"]
    signer = Signer(secret, date, who.split("/", 1)[1])
    if who.split("/")[0] != key_id:
        return "key id"
    service = signer.scope.split("/")[2]
    if signature != signer.request(request.method, path if service == "s3" else
                                   path.replace("//", "/"), pairs, request.headers,
                                   names.split(";"), payload):
        return "signature"
    if payload == CHUNKS:
        data = b"c" * 70000
        wanted = signer.chunks(signature, (data[:65536], data[65536:]))
        return "" if wanted.startswith(request.body) and request.length == len(wanted) and \
            request.sha256 == sha(wanted) else "chunks"
    return "" if payload in ("UNSIGNED-PAYLOAD", sha(request.body)) else "body"


if __name__ == "__main__":
    for form in sys.argv[1:]:
        conn = http.client.HTTPSConnection(HOST, timeout=10)
        key = os.environ.get("WRONG_KEY", os.environ["AWS_SECRET_ACCESS_KEY"])
        method, target, headers, body = make(form, os.environ["AWS_ACCESS_KEY_ID"], key)
        conn.request(method, target, body, headers)
        answer = conn.getresponse()
        print(form, answer.status, answer.read().decode().strip())
