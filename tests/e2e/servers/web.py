# SPDX-License-Identifier: GPL-2.0-only
"""The origins of the test internet: HTTP/1.1 in clear and over TLS, for every name on every address.
Each request is written down whole, so that a scenario can say what an origin saw. The path says
what to do; anything else is a file of the scenario's www folder or a greeting."""
import base64
import gzip
import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.parse

import echo
from mcp import do_mcp

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bin"))
import aws  # noqa: E402


class Request:
    """One request read from a stream; method is None at its end."""

    def __init__(self, stream):
        self.method, self.headers, self.body = None, {}, b""
        line = stream.readline(70000).decode("latin-1").strip()
        if line.count(" ") != 2:
            self.rest = line
            return
        self.method, self.target, self.version = line.split(" ")
        self.names = []
        while True:
            header = stream.readline(70000).decode("latin-1").rstrip("\r\n")
            if not header:
                break
            name, _, value = header.partition(":")
            self.names.append(name.lower())
            self.headers[name.lower()] = value.strip()
        self.path, _, query = self.target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))

    def pieces(self, stream):
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int(stream.readline().split(b";")[0] or b"0", 16):
                yield stream.read(size)
                stream.readline()
            while stream.readline() not in (b"\r\n", b"\n", b""):
                pass
            return
        left = int(self.headers.get("content-length", "0") or 0)
        while left > 0:
            part = stream.read(min(left, 1 << 20))
            if not part:
                return
            left -= len(part)
            yield part

    def read_body(self, stream):
        digest = hashlib.sha256()
        self.length = 0
        for part in self.pieces(stream):
            digest.update(part)
            self.length += len(part)
            if len(self.body) < 8 << 20:
                self.body += part
        self.sha256 = digest.hexdigest()


def reply(conn, status, body, headers=(), reason="OK"):
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Length: {len(body)}", *headers]
    conn.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def do_headers(conn, request, stream):
    reply(conn, 200, json.dumps(request.headers).encode() + b"\n")


def do_big(conn, request, stream):
    left, block = int(request.query.get("n", 1 << 20)), bytes(range(256)) * 256
    conn.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n".encode())
    while left > 0:
        conn.sendall(block[:left])
        left -= len(block)


def do_upload(conn, request, stream):
    reply(conn, 200, f"{getattr(request, 'length', len(request.body))} "
          f"{getattr(request, 'sha256', '-')}\n".encode())


def do_sse(conn, request, stream):
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n")
    for number in range(int(request.query.get("n", 5))):
        text = f"data: {number} {time.time():.3f}\n\n".encode()
        conn.sendall(f"{len(text):x}\r\n".encode() + text + b"\r\n")
        time.sleep(int(request.query.get("ms", 100)) / 1000)
    conn.sendall(b"0\r\n\r\n")


def do_trailers(conn, request, stream):
    conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                 b"5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n")


def do_slow(conn, request, stream):
    time.sleep(int(request.query.get("ms", 1000)) / 1000)
    reply(conn, 200, b"late\n")


def do_gzip(conn, request, stream):
    reply(conn, 200, gzip.compress(b"zipped hello\n"), ["Content-Encoding: gzip"])


def do_redirect(conn, request, stream):
    reply(conn, 302, b"", [f"Location: {request.query['to']}"], "Found")


def do_git(conn, request, root):
    """git http-backend over the repositories of the www folder"""
    body = request.body
    env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1",
           "REQUEST_METHOD": request.method, "PATH_INFO": request.path.removeprefix("/git"),
           "QUERY_STRING": request.target.partition("?")[2], "REMOTE_USER": "agent",
           "CONTENT_TYPE": request.headers.get("content-type", ""),
           "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "127.0.0.1",
           "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
           "GIT_PROTOCOL": request.headers.get("git-protocol", "")}
    output = subprocess.run(["git", "-c", "safe.directory=*", "http-backend"], env=env, input=body,
                            stdout=subprocess.PIPE, check=True).stdout
    head, _, body = output.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    status = [line[8:] for line in lines if line.startswith("Status: ")] or ["200 OK"]
    code, _, reason = status[0].partition(" ")
    reply(conn, int(code), body, [line for line in lines if not line.startswith("Status: ")], reason)


def do_aws(conn, request, root):
    """a service that knows one key: `KEYID SECRET` in the file aws-key"""
    with open(root + "/aws-key", encoding="ascii") as file:
        wrong = aws.check(request, *file.read().split())
    reply(conn, 403 if wrong else 200, (wrong or "right").encode())


def do_cut(conn, request, stream):
    """less than was promised, and no close_notify"""
    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    os.close(conn.detach())


def do_switch(conn, request, stream):
    """101 that nobody asked for"""
    conn.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                 b"Upgrade: whatever\r\n\r\nraw bytes")
    conn.close()


def do_websocket(conn, request, stream):
    key = request.headers.get("sec-websocket-key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    # The server's first frame leaves with the handshake.
    conn.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                 f"Connection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode()
                 + b"\x81\x05first")
    while True:
        head = stream.read(2)
        if len(head) < 2:
            return
        length = head[1] & 127
        if length == 126:
            length = int.from_bytes(stream.read(2), "big")
        elif length == 127:
            length = int.from_bytes(stream.read(8), "big")
        mask, data = stream.read(4), stream.read(length)
        data = bytes(b ^ mask[i & 3] for i, b in enumerate(data))
        size = bytes([length]) if length < 126 else b"\x7e" + length.to_bytes(2, "big") \
            if length < 65536 else b"\x7f" + length.to_bytes(8, "big")
        conn.sendall(bytes([head[0]]) + size + data)
        if head[0] & 15 == 8:
            return


PATHS = {"/headers": do_headers, "/big": do_big, "/upload": do_upload, "/sse": do_sse,
         "/trailers": do_trailers, "/slow": do_slow, "/switch": do_switch, "/ws": do_websocket,
         "/mcp": do_mcp, "/cut": do_cut, "/gzip": do_gzip, "/redirect": do_redirect}


def do_file(conn, request, root):
    path = os.path.normpath(root + "/" + urllib.parse.unquote(request.path))
    if os.path.isfile(path + "/index.html"):
        path += "/index.html"
    if path.startswith(root) and os.path.isfile(path):
        with open(path, "rb") as file:
            body = file.read()
        kind = "application/json" if body[:1] == b"{" else "application/octet-stream"
        kind = "text/html" if path.endswith(".html") else kind
        reply(conn, 200, b"" if request.method == "HEAD" else body, [f"Content-Type: {kind}"])
    elif os.listdir(root) and request.path.count("/") > 1:
        reply(conn, 404, b"no such file\n", reason="Not Found")
    else:
        reply(conn, 200, f"hello from {request.headers.get('host', 'nobody')}\n".encode())


def serve_client(conn, log, root, dst, port, sni):
    stream = conn.makefile("rb")
    while True:
        request = Request(stream)
        if request.method is None:
            if request.rest:
                log(kind="http", dst=dst, port=port, garbage=request.rest[:200])
            return
        if request.headers.get("expect", "") == "100-continue":
            conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.read_body(stream)
        log(kind="http", dst=dst, port=port, sni=sni, method=request.method, path=request.target,
            host=request.headers.get("host"), headers=request.headers, names=request.names,
            body=request.body[:2000].decode("latin-1"))
        act = PATHS.get(request.path)
        if request.path.startswith("/git/"):
            do_git(conn, request, root)
        elif request.path.startswith("/aws/"):
            do_aws(conn, request, root)
        elif act:
            act(conn, request, stream)
        elif request.path.startswith("/echo/"):
            echo.echo(conn, request)
        elif request.path.startswith("/go/"):
            echo.redirect(conn, request)
        elif not request.path.startswith("/private/") or echo.private(conn, request):
            do_file(conn, request, root)
        is_last = request.version == "HTTP/1.0" or request.headers.get("connection") == "close"
        if is_last or act in (do_websocket, do_switch):
            return
