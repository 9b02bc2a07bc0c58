# SPDX-License-Identifier: GPL-2.0-only
"""An origin that gives back what it was told, in as many ways as there are: /echo/FORM answers with
the request's target, fields and body. /private/ wants the right credentials, /go/ redirects."""
import base64
import gzip
import time
import urllib.parse
import zlib

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"


def text_of(request):
    fields = "".join(f"{name}: {value}\n" for name, value in request.headers.items())
    return f"{request.method} {request.target}\n{fields}\n".encode() + request.body


def escaped(text):
    return "".join(f"\\u{ord(c):04x}" for c in text.decode("latin-1")).encode()


def as_is(text):
    return text, []


FORMS = {
    "plain": as_is,
    "gzip": lambda text: (gzip.compress(text), ["Content-Encoding: gzip"]),
    "deflate": lambda text: (zlib.compress(text), ["Content-Encoding: deflate"]),
    "bare": lambda text: (zlib.compress(text)[2:-4], ["Content-Encoding: deflate"]),
    "br": lambda text: (text, ["Content-Encoding: br"]),
    "json": lambda text: (b'{"a":"' + escaped(text) + b'"}', ["Content-Type: application/json"]),
    "percent": lambda text: (urllib.parse.quote(text, safe="").encode(), []),
    "base64": lambda text: (base64.b64encode(text), []),
    "base64x": lambda text: (base64.urlsafe_b64encode(b"x" + text), []),
    "base64xx": lambda text: (base64.b64encode(b"xx" + text), []),
    "hex": lambda text: (text.hex().encode(), []),
}


def echo(conn, request):
    form = request.path.split("/")[2]
    token = request.headers.get("authorization", "none")
    text = text_of(request)
    head = b"HTTP/1.1 200 OK\r\n"
    if form == "header":
        head += f"X-Echo: {token}\r\nLocation: /?t={token.split()[-1]}\r\n".encode()
        head += f"Set-Cookie: t={token.split()[-1]}\r\n".encode()
    if form in ("chunked", "event"):
        head += b"Transfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
        conn.sendall(head)
        text = b"data: " + token.encode() + b"\n\n" if form == "event" else text
        step = 12 if form == "event" else 1
        for at in range(0, len(text), step):
            part = text[at:at + step]
            conn.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            if form == "event":
                time.sleep(0.05)
        conn.sendall(b"0\r\nX-Sum: " + token.encode() + b"\r\n\r\n")
        return
    body, fields = FORMS.get(form, as_is)(text)
    head += "".join(field + "\r\n" for field in fields).encode()
    conn.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode())
    conn.sendall(b"" if request.method == "HEAD" else body)


def private(conn, request):
    """True when the request may go on: whoever has the token."""
    given = request.headers.get("authorization", "")
    wanted = [f"Bearer {TOKEN}", f"token {TOKEN}"]
    wanted += ["Basic " + base64.b64encode(pair.encode()).decode()
               for pair in (f"me:{TOKEN}", f"{TOKEN}:x-oauth-basic", f"{TOKEN}:")]
    if given in wanted:
        return True
    conn.sendall(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n"
                 b"Content-Length: 0\r\n\r\n")
    return False


def redirect(conn, request):
    """/go/STATUS/URL"""
    _, _, status, where = request.target.split("/", 3)
    conn.sendall(f"HTTP/1.1 {status} Go\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode())
