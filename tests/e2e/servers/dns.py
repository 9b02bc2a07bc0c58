# SPDX-License-Identifier: GPL-2.0-only
"""The resolver of the test internet: answers on every address, port 53, UDP and TCP, from a zone
file that is read again when it changes, and writes down every question. Nothing here is hardened:
it is the other side. Read zone for the format."""
import os
import socket
import struct
import threading

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "NULL": 10, "PTR": 12, "MX": 15, "TXT": 16,
         "AAAA": 28, "SRV": 33, "SVCB": 64, "HTTPS": 65, "ANY": 255, "CAA": 257}
NAMES = {number: name for name, number in TYPES.items()}


def encode_name(name):
    labels = [label.encode("latin-1") for label in name.strip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def encode_https(words):
    """`PRIORITY TARGET [hint=ADDR] [ech]`"""
    params = b""
    for word in words[2:]:
        if word.startswith("hint="):
            params += struct.pack("!HH", 4, 4) + socket.inet_aton(word[5:])
        if word == "ech":
            params += struct.pack("!HH", 5, 8) + b"\0\6echkey"
    return struct.pack("!H", int(words[0])) + encode_name(words[1]) + params


def encode_rdata(kind, data):
    words = data.split()
    if kind == "A":
        return socket.inet_aton(data)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, data)
    if kind in ("CNAME", "NS", "PTR"):
        return encode_name(data)
    if kind == "TXT":
        text = data.strip('"').encode()
        return bytes([len(text)]) + text
    if kind == "MX":
        return struct.pack("!H", int(words[0])) + encode_name(words[1])
    if kind == "SRV":
        return struct.pack("!HHH", *map(int, words[:3])) + encode_name(words[3])
    return encode_https(words)


class Zone:
    """rows[(name, type)] = list of answers, each a list of data; one is taken a question."""

    def __init__(self, path):
        self.path, self.stamp, self.rows, self.turn = path, None, {}, {}
        self.lock = threading.Lock()

    def load(self):
        stat = os.stat(self.path)
        stamp = (stat.st_mtime_ns, stat.st_ino)
        if stamp == self.stamp:
            return
        self.stamp, self.rows, self.turn = stamp, {}, {}
        for line in open(self.path):
            words = line.split(None, 2)
            if not words or words[0].startswith("#"):
                continue
            data = words[2].strip() if len(words) > 2 else ""
            answers = [[d.strip() for d in part.split(",")] for part in data.split("|")]
            self.rows.setdefault((words[0].lower(), words[1]), answers)

    def names(self, name):
        labels = name.split(".")
        yield name
        for cut in range(1, len(labels)):
            yield "*." + ".".join(labels[cut:])

    def find(self, name, kind):
        """(rcode, [(type, data)]); rcode None: no reply at all."""
        with self.lock:
            self.load()
            for known in self.names(name.lower()):
                for special, code in (("NXDOMAIN", 3), ("SERVFAIL", 2), ("DROP", None)):
                    if (known, special) in self.rows:
                        return code, []
                here = [k for k in self.rows if k[0] == known]
                if not here:
                    continue
                if (known, "CNAME") in self.rows and kind != "CNAME":
                    target = self.rows[(known, "CNAME")][0][0]
                    self.lock.release()
                    try:
                        code, rest = self.find(target, kind)
                    finally:
                        self.lock.acquire()
                    return code, [("CNAME", target)] + rest
                answers = self.rows.get((known, kind))
                if not answers:
                    return 0, []
                turn = self.turn.get((known, kind), 0)
                self.turn[(known, kind)] = turn + 1
                data = answers[min(turn, len(answers) - 1)]
                return 0, [(kind, item) for item in data if item]
            return 3, []


def parse_question(message):
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1"))
        at += 1 + message[at]
    (kind,) = struct.unpack("!H", message[at + 1:at + 3])
    return ".".join(labels), kind, message[12:at + 5]


def answer(zone, message, is_tcp):
    name, number, question = parse_question(message)
    code, records = zone.find(name, NAMES.get(number, str(number)))
    if code is None:
        return None
    body, owner = b"", encode_name(name)
    for kind, data in records:
        rdata = encode_rdata(kind, data)
        body += owner + struct.pack("!HHIH", TYPES[kind], 1, 5, len(rdata)) + rdata
        owner = rdata if kind == "CNAME" else owner
    flags, count = 0x8580 | code, len(records)
    if not is_tcp and len(body) > 1100:
        flags, count, body = flags | 0x0200, 0, b""
    return message[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0) + question + body


def serve_udp(zone, log):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    sock.bind(("::", 53))
    while True:
        message, control, _, peer = sock.recvmsg(4096, 256)
        try:
            name, number, _ = parse_question(message)
            log(kind="dns", proto="udp", name=name, type=NAMES.get(number, str(number)))
            reply = answer(zone, message, False)
        except (IndexError, struct.error):
            log(kind="dns", proto="udp", name="?", type="?")
            continue
        if reply:
            info = [c for c in control if c[1] == socket.IPV6_PKTINFO]
            sock.sendmsg([reply], [(socket.IPPROTO_IPV6, socket.IPV6_PKTINFO,
                                    info[0][2][:16] + b"\0\0\0\0")], 0, peer)


def serve_tcp_client(zone, log, conn):
    stream = conn.makefile("rb")
    while True:
        head = stream.read(2)
        if len(head) < 2:
            return
        message = stream.read(struct.unpack("!H", head)[0])
        name, number, _ = parse_question(message)
        log(kind="dns", proto="tcp", name=name, type=NAMES.get(number, str(number)))
        reply = answer(zone, message, True)
        if reply:
            conn.sendall(struct.pack("!H", len(reply)) + reply)
