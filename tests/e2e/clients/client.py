#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What no ordinary client does: one odd network call a command. Prints what came of it (a word, the
data, or the errno's name) and exits 0 when the call went through, 1 when it was refused.
`client.py --help` lists the commands; they are the functions below."""
import errno
import inspect
import os
import socket
import ssl
import struct
import sys
import time

CANARY = os.environ.get("CANARY", "canary").encode()


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def udp(address, port, times="1"):
    """one datagram from an unconnected socket, with the canary"""
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as sock:
        for _ in range(int(times)):
            sock.sendto(CANARY, (address, int(port)))
    return "sent"


def udp_connected(address, port):
    """connect, then send: no address for a send hook to see"""
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, int(port)))
        except OSError:
            pass
        sock.send(CANARY)
    return "sent"


def tcp(address, port, text=None):
    """connect, send a text (else the canary), print what comes back within 3 s and the peer"""
    with socket.create_connection((address, int(port)), 3) as sock:
        peer = sock.getpeername()
        sock.sendall(text.encode() + b"\n" if text is not None else CANARY)
        try:
            data = sock.recv(65536)
        except TimeoutError:
            return f"silent peer {peer[0]} {peer[1]}"
    if not data:
        raise ConnectionError("closed by the other side")
    return f"{data.decode('latin-1').strip()} peer {peer[0]} {peer[1]}"


def keep(kind, address, port, path):
    """tcp or udp: a connected socket that says a word every 50 ms; to the file goes what comes of it"""
    with socket.socket(family_of(address), socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as sock, \
            open(path, "w", buffering=1) as out:
        sock.settimeout(8)
        sock.connect((address, int(port)))
        while True:
            try:
                sock.send(b"word")
                out.write("got\n" if kind == "udp" or sock.recv(100) else "END\n")
            except OSError as error:
                out.write(f"{errno.errorcode.get(error.errno, str(error))}\n")
                return "ended"
            time.sleep(0.05)


def banner(address, port):
    """connect and wait for the server to speak first"""
    with socket.create_connection((address, int(port)), 3) as sock:
        data = sock.recv(100)
        if not data:
            raise ConnectionError("closed by the other side")
        return data.decode("latin-1").strip()


def connect(address, port, bind_device=None):
    """connect only"""
    with socket.socket(family_of(address), socket.SOCK_STREAM) as sock:
        sock.settimeout(3)
        if bind_device:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, bind_device.encode())
        sock.connect((address, int(port)))
    return "connected"


def make(family, kind, protocol="0"):
    """make a socket: numbers or names (AF_PACKET SOCK_RAW 3)"""
    def number(text):
        return int(text) if text.isdigit() else int(getattr(socket, text))
    socket.socket(number(family), number(kind), number(protocol)).close()
    return "made"


def ping(address):
    """an ICMP echo from an unprivileged ping socket, with the canary"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as sock:
        sock.sendto(struct.pack("!BBHHH", 8, 0, 0, 1, 1) + CANARY, (address, 0))
    return "sent"


def udplite(address, port):
    """connect and send on a UDP-Lite socket"""
    with socket.socket(family_of(address), socket.SOCK_DGRAM, 136) as sock:
        sock.connect((address, int(port)))
        sock.send(CANARY)
    return "sent"


def mptcp(address, port):
    """connect on an MPTCP socket"""
    with socket.socket(family_of(address), socket.SOCK_STREAM, 262) as sock:
        sock.settimeout(3)
        sock.connect((address, int(port)))
        sock.sendall(CANARY)
    return "sent"


def fastopen(address, port):
    """TCP Fast Open: data in the first send, no connect call"""
    with socket.socket(family_of(address), socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 3, 0))
        sock.sendto(CANARY, socket.MSG_FASTOPEN, (address, int(port)))
        if not sock.recv(100):
            raise ConnectionError("closed by the other side")
    return "sent"


def unspec(address, port, other, other_port):
    """connect somewhere allowed, dissolve with AF_UNSPEC, connect elsewhere"""
    with socket.socket(family_of(address), socket.SOCK_STREAM) as sock:
        sock.settimeout(3)
        sock.connect((address, int(port)))
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.connect(sock.fileno(), b"\0" * 16, 16)
        sock.connect((other, int(other_port)))
        sock.sendall(CANARY)
        if not sock.recv(100):
            raise ConnectionError("closed by the other side")
    return "sent"


def pktinfo(address, port, device):
    """a datagram that names the device it wants to leave by"""
    index = socket.if_nametoindex(device)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        control = [(socket.IPPROTO_IP, 8, struct.pack("iII", index, 0, 0))]
        sock.sendmsg([CANARY], control, 0, (address, int(port)))
    return "sent"


def routing_header(address, port, hop):
    """an IPv6 routing header that leads past the address the hook sees"""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        header = struct.pack("!BBBBBBH", 0, 2, 4, 1, 0, 0, 0) + socket.inet_pton(
            socket.AF_INET6, hop)
        sock.setsockopt(socket.IPPROTO_IPV6, 57, header)
        sock.sendto(CANARY, (address, int(port)))
    return "sent"


def names(name, port="443"):
    """getaddrinfo: the addresses, in libc's order"""
    try:
        found = socket.getaddrinfo(name, int(port), type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise OSError(0, error.strerror) from error
    return " ".join(item[4][0] for item in found)


def bytes_(address, port, *parts):
    """send each part (Python escapes; `sleep:MS` waits), then print all that comes until the end"""
    with socket.create_connection((address, int(port)), 5) as sock:
        for part in parts:
            if part.startswith("sleep:"):
                time.sleep(int(part[6:]) / 1000)
            else:
                sock.sendall(part.encode("latin-1").decode("unicode_escape").encode("latin-1"))
        data = b""
        try:
            while more := sock.recv(65536):
                data += more
        except (TimeoutError, ConnectionResetError):
            pass
    return data.decode("latin-1") or "(nothing)"


def half_close(address, port):
    """send, shut the sending side, read to the end"""
    with socket.create_connection((address, int(port)), 5) as sock:
        sock.sendall(b"x" * 1000)
        sock.shutdown(socket.SHUT_WR)
        total, tail = 0, b""
        while data := sock.recv(65536):
            total, tail = total + len(data), data[-3:]
    return f"{total} {tail.decode()}"


def half_open(address, port):
    """the server ends its side first; we go on sending"""
    with socket.create_connection((address, int(port)), 5) as sock:
        text = b""
        while data := sock.recv(100):
            text += data
        for _ in range(10):
            sock.sendall(b"y" * 1000)
            time.sleep(0.02)
    return text.decode()


def hello_of(name, minimum=None):
    """(context, incoming, outgoing, connection, the ClientHello's bytes)"""
    context = ssl.create_default_context(cafile=os.environ.get("CA"))
    context.check_hostname = False
    if minimum:
        context.minimum_version = getattr(ssl.TLSVersion, minimum)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    conn = context.wrap_bio(incoming, outgoing, server_hostname=name or None)
    try:
        conn.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return incoming, outgoing, conn, outgoing.read()


def split_records(hello, size):
    """the handshake message of one record as many records of so many bytes"""
    body = hello[5:]
    return b"".join(hello[:3] + struct.pack("!H", len(body[i:i + size])) + body[i:i + size]
                    for i in range(0, len(body), size))


def finish_tls(sock, incoming, outgoing, conn):
    def pump(step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                sock.sendall(outgoing.read())
                data = sock.recv(65536)
                if not data:
                    raise ConnectionError("closed by the other side") from None
                incoming.write(data)
    try:
        pump(conn.do_handshake)
        sock.sendall(outgoing.read())
        conn.write(b"GET / HTTP/1.1\r\nHost: tls\r\nConnection: close\r\n\r\n")
        sock.sendall(outgoing.read())
        return pump(lambda: conn.read(65536)).decode("latin-1").split("\r\n\r\n")[-1].strip()
    except ssl.SSLError as error:
        raise OSError(0, f"alert: {error.reason}") from error


def tls(address, port, name, *options):
    """TLS with this SNI (empty: none), its hello sent as the options say: bytes=N records=N
    delay_ms=N at=N version=TLSv1_3 proxy=NAME:PORT (CONNECT first)"""
    option = dict(word.split("=", 1) for word in options)
    incoming, outgoing, conn, hello = hello_of(name, option.get("version"))
    if "records" in option:
        hello = split_records(hello, int(option["records"]))
    if "record_version" in option:
        hello = hello[:1] + bytes.fromhex(option["record_version"]) + hello[3:]
    size = int(option.get("bytes", len(hello)))
    parts = [hello[i:i + size] for i in range(0, len(hello), size)]
    if "at" in option:
        parts = [hello[:int(option["at"])], hello[int(option["at"]):]]
    with socket.create_connection((address, int(port)), 8) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if "proxy" in option:
            sock.sendall(f"CONNECT {option['proxy']} HTTP/1.1\r\nHost: {option['proxy']}\r\n\r\n"
                         .encode())
            answer = sock.recv(4096)
            if b" 200 " not in answer.split(b"\r\n")[0]:
                raise OSError(0, answer.decode("latin-1"))
        for part in parts:
            sock.sendall(part)
            if len(parts) > 1:
                time.sleep(int(option.get("delay_ms", "1")) / 1000)
        return finish_tls(sock, incoming, outgoing, conn)


def websocket(url_host, port, text):
    """the opening handshake and one frame in one segment; prints the frames that come back"""
    with socket.create_connection((url_host, int(port)), 5) as sock:
        data = text.encode()
        frame = bytes([0x81, 0x80 | len(data)]) + b"\0\0\0\0" + data
        sock.sendall(f"GET /ws HTTP/1.1\r\nHost: {url_host}\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode() + frame)
        got = b""
        while got.count(data) < 1:
            more = sock.recv(65536)
            if not more:
                break
            got += more
    return got.decode("latin-1")


def serve(address, port, path):
    """a little server in the sandbox: listens, touches a file, answers one connection"""
    with socket.socket(family_of(address), socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, int(port)))
        sock.listen()
        open(path, "w").close()
        conn, _ = sock.accept()
        conn.recv(65536)
        conn.sendall(b"HTTP/1.0 200 OK\r\n\r\nlocal\n")
        conn.close()
    return "served"


def unix(path):
    """connect to a UNIX socket (@NAME: abstract)"""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path.replace("@", "\0", 1) if path.startswith("@") else path)
    return "connected"


COMMANDS = [udp, udp_connected, tcp, keep, banner, connect, make, ping, udplite, mptcp, fastopen, unspec,
            pktinfo, routing_header, names, bytes_, half_close, half_open, tls, websocket, serve,
            unix]


def main():
    table = {act.__name__.strip("_").replace("_", "-"): act for act in COMMANDS}
    if len(sys.argv) < 2 or sys.argv[1] not in table:
        for name, act in table.items():
            print(f"{name} {inspect.signature(act)}: {act.__doc__}")
        return 2
    try:
        print(table[sys.argv[1]](*sys.argv[2:]))
        return 0
    except TimeoutError:
        print("TIMEOUT")
    except OSError as error:
        print(errno.errorcode.get(error.errno, error.strerror or str(error)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
