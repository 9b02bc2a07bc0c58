# SPDX-License-Identifier: GPL-2.0-only
"""A forward proxy of somebody else's on the host's loopback: CONNECT alone, Basic jo:secret. Arguments:
what it does (serve, 407, 403, 502, 504, close, hang), the scenario's folder, and for HTTPS the folder
of the test CA. Writes forward.log (a JSON object a line: target, user, name) and forward.ready."""
import base64
import json
import pathlib
import socket
import ssl
import sys
import threading
import time

DOES, RUN = sys.argv[1], sys.argv[2]
LOG = open(f"{RUN}/forward.log", "a", buffering=1)
PHRASES = {"407": "Proxy Authentication Required", "403": "Forbidden", "502": "Bad Gateway",
           "504": "Gateway Timeout"}


def read_head(conn):
    head = b""
    while b"\r\n\r\n" not in head:
        part = conn.recv(4096)
        if not part:
            return None, {}
        head += part
    line, *fields = head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
    return line, {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}


def copy(source, sink):
    try:
        while part := source.recv(65536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(conn):
    line, fields = read_head(conn)
    if not line:
        return
    target = line.split(" ")[1]
    user = base64.b64decode(fields.get("proxy-authorization", "Basic ").split(" ")[1]).decode()
    LOG.write(json.dumps({"line": line, "target": target, "user": user,
                          "name": fields.get("x-nej-name"), "host": fields.get("host")}) + "\n")
    if DOES == "hang":
        time.sleep(60)
    if DOES in PHRASES:
        conn.sendall(f"HTTP/1.1 {DOES} {PHRASES[DOES]}\r\nContent-Length: 0\r\n\r\n".encode())
    if DOES != "serve" or user != "jo:secret":
        return
    host, _, port = target.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), 5) as server:
        conn.sendall(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 forward\r\n\r\n")
        up = threading.Thread(target=copy, args=(conn, server), daemon=True)
        up.start()
        copy(server, conn)
        up.join(5)


def handle(conn):
    with conn:
        if len(sys.argv) > 3:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{sys.argv[3]}/leaf.pem", f"{sys.argv[3]}/key.pem")
            conn = context.wrap_socket(conn, server_side=True)
        try:
            serve(conn)
        except OSError as error:
            LOG.write(json.dumps({"error": str(error)}) + "\n")


listener = socket.create_server(("127.0.0.1", 3140), backlog=64)
pathlib.Path(f"{RUN}/forward.ready").touch()
while True:
    threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()
