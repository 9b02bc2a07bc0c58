#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What no ordinary client says inside TLS: bytes and HTTP/2 frames of the scenario's own. Trusts
what its environment names (SSL_CERT_FILE) and prints what comes back. `intls.py --help` lists the
commands; they are the functions below. Read client.py for the calls below TLS."""
import inspect
import socket
import ssl
import struct
import sys
import time


def secure(host, port, alpn, **options):
    context = ssl.create_default_context(cafile=options.get("ca"))
    context.set_alpn_protocols(alpn.split(","))
    if options.get("version"):
        context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, options["version"])
    sock = socket.create_connection((options.get("at", host), int(port)), 8)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(sock, server_hostname=host, suppress_ragged_eofs=True)


def read_all(conn):
    data = b""
    try:
        while more := conn.recv(65536):
            data += more
    except (TimeoutError, ConnectionError, ssl.SSLError):
        pass
    return data


def unescape(text):
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def http1(host, *parts):
    """send each part (Python escapes; sleep:MS waits, until:TEXT reads as far as that) as HTTP/1.1
    and print all that comes up to the end or the last until"""
    got = b""
    with secure(host, 443, "http/1.1") as conn:
        for part in parts:
            if part.startswith("sleep:"):
                time.sleep(int(part[6:]) / 1000)
            elif part.startswith("until:"):
                while part[6:].encode() not in got and (more := conn.recv(65536)):
                    got += more
            else:
                conn.sendall(unescape(part))
        if not parts[-1].startswith("until:"):
            got += read_all(conn)
        return got.decode("latin-1") or "(nothing)"


def peer(host, *options):
    """the handshake alone: version, protocol, issuer; version=TLSv1_2 at=ADDRESS ca=FILE"""
    option = dict(word.split("=", 1) for word in options)
    with secure(host, option.pop("port", 443), option.pop("alpn", "h2,http/1.1"), **option) as conn:
        names = {k: v for part in conn.getpeercert()["issuer"] for k, v in part}
        return f"{conn.version()} {conn.selected_alpn_protocol()} issuer {names['commonName']}"


def half_close(host, size):
    """a request, the end of our side, then the whole answer"""
    context, incoming, outgoing = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    conn = context.wrap_bio(incoming, outgoing, server_hostname=host)
    with socket.create_connection((host, 443), 8) as sock:
        def pump(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    sock.sendall(outgoing.read())
                    data = sock.recv(65536)
                    incoming.write(data) if data else incoming.write_eof()
        pump(conn.do_handshake)
        conn.write(f"GET /big?n={size} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        try:
            conn.unwrap()
        except ssl.SSLError:
            pass
        sock.sendall(outgoing.read())
        total = 0
        try:
            while data := sock.recv(65536):
                total += len(data)
        except TimeoutError:
            return "silent"
        return "whole" if total > int(size) else f"{total} bytes of TLS"


def frame(kind, flags, stream, payload):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def block_of(fields):
    """HPACK literals, never indexed, never compressed: any bytes go"""
    out = b""
    for name, value in fields:
        out += b"\x10" + b"".join((bytes([len(t)]) if len(t) < 127 else b"\x7f" + bytes([len(t) - 127]))
                                  + t for t in (name, value))
    return out


def requests_of(words):
    """words `name=value` (Python escapes) up to the next `--` make one request; data=TEXT a body"""
    request = ([], None)
    for word in (*words, "--"):
        if word == "--":
            yield request
            request = ([], None)
            continue
        name, _, value = word.partition("=")
        if name == "data":
            request = (request[0], unescape(value))
        else:
            request[0].append((unescape(name), unescape(value)))


class Answers:
    """Reads frames until every stream has ended or the connection has; keeps a line a stream."""

    def __init__(self, conn, streams):
        import hpack
        self.conn, self.open, self.decoder = conn, set(streams), hpack.Decoder()
        self.lines, self.data = {s: [] for s in streams}, b""

    def take(self, size):
        while len(self.data) < size:
            more = self.conn.recv(65536)
            if not more:
                raise EOFError
            self.data += more
        part, self.data = self.data[:size], self.data[size:]
        return part

    def one(self):
        head = self.take(9)
        kind, flags, stream = struct.unpack("!BBI", head[3:])
        payload = self.take(int.from_bytes(head[:3], "big"))
        line = self.lines.get(stream, [])
        if kind == 1:
            line += [v for k, v in self.decoder.decode(payload) if k in (":status", "x-nej-reason")]
        elif kind == 0:
            line.append(payload.decode("latin-1").strip()[:300])
        elif kind == 3:
            line.append(f"reset {int.from_bytes(payload, 'big')}")
            self.open.discard(stream)
        elif kind == 4 and not flags & 1:
            self.conn.sendall(frame(4, 1, 0, b""))
        elif kind == 7:
            self.lines[0] = [f"goaway {int.from_bytes(payload[4:8], 'big')}"]
        if flags & 1 and kind in (0, 1):
            self.open.discard(stream)

    def all(self):
        try:
            while self.open:
                self.one()
        except (EOFError, TimeoutError, ConnectionError, ssl.SSLError) as error:
            self.lines.setdefault(0, []).append(type(error).__name__)
        return "\n".join(f"{s}: {' '.join(words)}" for s, words in sorted(self.lines.items()))


def http2(host, *words):
    """HTTP/2 requests, all at once: fields `name=value`, data=TEXT, `--` between two"""
    with secure(host, 443, "h2") as conn:
        if conn.selected_alpn_protocol() != "h2":
            return "no h2"
        out, stream, streams = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""), 1, []
        for fields, data in requests_of(words):
            out += frame(1, 4 | (data is None), stream, block_of(fields))
            if data is not None:
                out += frame(0, 1, stream, data)
            streams.append(stream)
            stream += 2
        conn.sendall(out)
        return Answers(conn, streams).all()


def storm(host, count):
    """so many requests, each reset at once (CVE-2023-44487); then one that must be answered or the
    connection must have ended"""
    with secure(host, 443, "h2") as conn:
        fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", host.encode()),
                  (b":path", b"/headers")]
        out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
        last = 2 * int(count) + 1
        for stream in range(1, last, 2):
            out += frame(1, 5, stream, block_of(fields)) + frame(3, 0, stream, struct.pack("!I", 8))
        try:
            conn.sendall(out + frame(1, 5, last, block_of(fields)))
        except (ConnectionError, ssl.SSLError):
            return "ended"
        return Answers(conn, [last]).all()


COMMANDS = [http1, http2, peer, half_close, storm]


def main():
    table = {act.__name__.replace("_", "-"): act for act in COMMANDS}
    if len(sys.argv) < 2 or sys.argv[1] not in table:
        for name, act in table.items():
            print(f"{name} {inspect.signature(act)}: {act.__doc__}")
        return 2
    try:
        print(table[sys.argv[1]](*sys.argv[2:]))
        return 0
    except ssl.SSLError as error:
        print("alert:", getattr(error, "verify_message", "") or error.reason or error)
    except OSError as error:
        print("failed:", error)
    return 1


if __name__ == "__main__":
    sys.exit(main())
