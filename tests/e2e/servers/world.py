# SPDX-License-Identifier: GPL-2.0-only
"""The test internet in one process: resolver, web origins, a few raw TCP services and the packet
oracle, for every address of the namespace it is started in. Arguments: the scenario's folder, the
shared one. Writes world.log (a JSON object a line) and world.ready."""
import json
import os
import pathlib
import socket
import ssl
import struct
import sys
import threading
import time

import dns
import sniff
import web

RUN, SHARED = sys.argv[1], sys.argv[2]
LOG = open(f"{RUN}/world.log", "a", buffering=1)
LOCK = threading.Lock()


def log(**record):
    with LOCK:
        LOG.write(json.dumps({"time": time.time(), **record}) + "\n")


def tls_context(chain, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    context.set_alpn_protocols(["http/1.1"])

    def on_sni(conn, name, _):
        conn.nej_sni = name
        if name and name.endswith(".bad.test"):
            conn.context = context_named(name.removesuffix(".bad.test"))
    context.sni_callback = on_sni
    return context


def context_named(name):
    """KIND.bad.test shows the certificate that tests/e2e/certificates made under that name."""
    return tls_context(f"{SHARED}/certs/{name}.pem", f"{SHARED}/key.pem")


def context_that_asks():
    """wants a client certificate"""
    context = tls_context(f"{SHARED}/leaf.pem", f"{SHARED}/key.pem")
    context.load_verify_locations(f"{SHARED}/ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def context_of_old():
    context = tls_context(f"{SHARED}/leaf.pem", f"{SHARED}/key.pem")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


TLS = {443: tls_context(f"{SHARED}/leaf.pem", f"{SHARED}/key.pem"), 8444: context_that_asks(),
       8445: context_of_old()}


def plain(address):
    """A v4-mapped address as IPv4"""
    return address.removeprefix("::ffff:")


def on_http(conn, dst, port):
    web.serve_client(conn, log, f"{RUN}/www", dst, port, None)


def on_https(conn, dst, port):
    try:
        conn = TLS.get(port, TLS[443]).wrap_socket(conn, server_side=True)
    except (ssl.SSLError, OSError) as error:
        log(kind="tls-failed", dst=dst, port=port, error=str(error))
        return
    web.serve_client(conn, log, f"{RUN}/www", dst, port, getattr(conn, "nej_sni", None))
    try:
        conn.unwrap()
    except OSError:
        pass


def on_dns(conn, dst, port):
    dns.serve_tcp_client(ZONE, log, conn)


def on_echo(conn, dst, port):
    """Echoes; at the client's end of file says `bye` and closes: a half-close needs both."""
    while True:
        data = conn.recv(65536)
        if not data:
            conn.sendall(b"bye")
            return
        log(kind="raw", dst=dst, port=port, data=data[:200].decode("latin-1"))
        conn.sendall(data)


def on_banner(conn, dst, port):
    """The server speaks first, as for SSH, SMTP and MySQL."""
    conn.sendall(b"220 banner\r\n")
    on_echo(conn, dst, port)


def on_half(conn, dst, port):
    """The server closes its side first and goes on reading."""
    conn.sendall(b"done")
    conn.shutdown(socket.SHUT_WR)
    total = 0
    while data := conn.recv(65536):
        total += len(data)
    log(kind="half", dst=dst, port=port, total=total)


def on_reset(conn, dst, port):
    conn.recv(1)
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


SERVICES = {53: on_dns, 80: on_http, 443: on_https, 3000: on_http, 8080: on_http, 8443: on_https, 8444: on_https,
            8445: on_https,
            7: on_echo, 25: on_banner, 9000: on_half, 9001: on_reset, 5432: on_echo}


def accept_loop(sock, port, service):
    while True:
        conn, _ = sock.accept()
        dst = plain(conn.getsockname()[0])
        log(kind="accept", dst=dst, port=port)

        def work(conn=conn, dst=dst):
            try:
                service(conn, dst, port)
            except (OSError, ValueError, struct.error):
                pass
            finally:
                conn.close()
        threading.Thread(target=work, daemon=True).start()


def listen(port, service):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("::", port))
    sock.listen(1024)
    threading.Thread(target=accept_loop, args=(sock, port, service), daemon=True).start()


ZONE = dns.Zone(f"{RUN}/zone")
skipped = {int(word) for word in os.environ.get("WORLD_WITHOUT", "").split()}
for number, handler in SERVICES.items():
    if number not in skipped:
        listen(number, handler)
threading.Thread(target=dns.serve_udp, args=(ZONE, log), daemon=True).start()
threading.Thread(target=sniff.serve, args=(log, os.environ["CANARY"].encode(), "eth0"),
                 daemon=True).start()
pathlib.Path(f"{RUN}/world.ready").touch()
while True:
    time.sleep(3600)
