# SPDX-License-Identifier: GPL-2.0-only
"""The soak's internet: resolver, web and echo servers on every address, and the oracle, which sees each
packet that arrives. Arguments: folder with certificates, canary. Ends at the end of its input and then
prints what it saw as JSON. Nothing is hardened here: it is the other side. Read plan.py first."""
import array
import asyncio
import collections
import json
import socket
import ssl
import struct
import sys
import threading
import time

import plan

HOME, CANARY = sys.argv[1], sys.argv[2].encode()
COUNTS = collections.Counter()    # what allowed work arrived, by words
FORBIDDEN = collections.Counter()  # what must never arrive
TIMES = {(box, kind): array.array("d") for box in (0, 1) for kind in plan.KINDS}
STALLS = []
ZONE = plan.zone()


# --- the oracle

IGNORE_OUTGOING, STATISTICS, TIMESTAMPNS = 23, 6, 35
ICMP, UNREACHABLE, NO_PORT = 1, 3, 3


def dissect(frame):
    """(destination, protocol, port, does it carry or begin something)"""
    head = 14 + (frame[14] & 15) * 4
    proto, dst = frame[23], socket.inet_ntoa(frame[30:34])
    if proto not in (6, 17) or len(frame) < head + 8:
        return dst, proto, 0, True
    (port,) = struct.unpack("!H", frame[head + 2:head + 4])
    if proto == 17:
        return dst, proto, port, True
    (total,) = struct.unpack("!H", frame[16:18])
    payload = total - (head - 14) - (frame[head + 12] >> 4) * 4
    return dst, proto, port, payload > 0 or bool(frame[head + 13] & 2)


def is_late_answer(frame, dst):
    """The host's kernel tells who answers by UDP that nobody waits for it any more: the worker was killed,
    the program's time was up. No socket makes it, and it carries back what came from there."""
    head = 14 + (frame[14] & 15) * 4
    return dst in (plan.RESOLVER, plan.address(1, "kern")) and frame[23] == ICMP \
        and frame[head:head + 2] == bytes((UNREACHABLE, NO_PORT)) and frame[head + 20:head + 24] == socket.inet_aton(dst)


def watch(frame, when):
    (kind,) = struct.unpack("!H", frame[12:14])
    if CANARY in frame:
        FORBIDDEN["canary in a packet"] += 1
    if kind == 0x86DD:
        if frame[20] not in (0, 58):  # neighbour discovery is the device's own talk
            FORBIDDEN[f"packet to {socket.inet_ntop(socket.AF_INET6, frame[38:54])}"] += 1
        return
    if kind != 0x0800:
        return
    dst, proto, port, is_content = dissect(frame)
    COUNTS["packets"] += 1
    if is_late_answer(frame, dst):
        COUNTS["late answers"] += 1
        return
    if not plan.may_leave(dst, proto, port):
        FORBIDDEN[f"packet to {dst} protocol {proto} port {port}"] += 1
    elif is_content and dst != plan.RESOLVER:
        TIMES[plan.owner(dst)].append(when)


def sniff(sock):
    while True:
        frame, control, _, _ = sock.recvmsg(65536, 64)
        sec, nsec = struct.unpack("qq", control[0][2])
        if len(frame) >= 34:
            watch(frame, sec + nsec / 1e9)


def open_sniffer():
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind(("eth0", 0))
    sock.setsockopt(263, IGNORE_OUTGOING, 1)
    sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
    sock.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
    threading.Thread(target=sniff, args=(sock,), daemon=True).start()
    return sock


# --- servers

class Resolver(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        name, (kind,) = ".".join(labels).lower(), struct.unpack("!H", data[at + 1:at + 3])
        found = ZONE.get(name)
        if not found:
            FORBIDDEN["question for a denied name"] += 1
        COUNTS["questions"] += 1
        answers = found and kind == 1
        reply = data[:2] + struct.pack("!HHHHH", 0x8580 | (0 if found else 3), 1, 1 if answers else 0, 0, 0)
        reply += data[12:at + 5]
        if answers:
            reply += b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 5, 4) + socket.inet_aton(found)
        self.transport.sendto(reply, peer)


class Datagrams(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        COUNTS["udp kern"] += 1
        self.transport.sendto(data, peer)


def judge_request(kind, head, is_tls):
    """The words under which a request counts; wrong ones are forbidden."""
    host = head.partition(b"\r\nHost: ")[2].partition(b"\r\n")[0].partition(b":")[0].decode("latin-1")
    if CANARY in head or host != kind:
        FORBIDDEN[f"request for {host[:60]} at {kind}"] += 1
    if kind.startswith("look.s0"):
        good = b"Authorization: Bearer " + plan.SECRET.encode() + b"\r\n" in head + b"\r\n"
        COUNTS["secret right" if good else "secret wrong"] += 1
    elif plan.SECRET.encode() in head:
        FORBIDDEN[f"the secret at {kind}"] += 1
    COUNTS[f"{'https' if is_tls else 'http'} {kind}"] += 1
    return f"ok {host}\n".encode()


async def serve_http(reader, writer):
    address = writer.get_extra_info("sockname")[0].removeprefix("::ffff:")
    is_tls = writer.get_extra_info("ssl_object") is not None
    kind = plan.name(*plan.owner(address)) if plan.owner(address) else "nobody"
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = judge_request(kind, head, is_tls)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, OSError, ssl.SSLError):
        pass
    writer.close()


async def serve_echo(reader, writer):
    address = writer.get_extra_info("sockname")[0].removeprefix("::ffff:")
    kind = plan.name(*plan.owner(address)) if plan.owner(address) else "nobody"
    COUNTS[f"tcp {kind}"] += 1
    try:
        while data := await reader.read(65536):
            COUNTS[f"echoed {kind}"] += 1
            if CANARY in data:
                FORBIDDEN["canary at an echo server"] += 1
            writer.write(data)
    except OSError:
        pass
    writer.close()


async def notice_stalls():
    """When this program itself was not run: what came late then is not nej's doing."""
    while True:
        begin = time.time()
        await asyncio.sleep(plan.TICK)
        if time.time() - begin > plan.TICK + plan.STALL:
            STALLS.append((begin, time.time()))


async def serve():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(f"{HOME}/leaf.pem", f"{HOME}/key.pem")
    tls.set_alpn_protocols(["http/1.1"])
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Resolver, local_addr=(plan.RESOLVER, 53))
    await loop.create_datagram_endpoint(Datagrams, local_addr=(plan.address(1, "kern"), plan.KERNEL_UDP))
    for port in (plan.HTTP, 8080):
        await asyncio.start_server(serve_http, None, port, backlog=4096)
    await asyncio.start_server(serve_http, None, plan.TLS, ssl=tls, backlog=4096)
    for port in (plan.ECHO, plan.KERNEL_TCP, 25, 9999):
        await asyncio.start_server(serve_echo, None, port, backlog=4096)
    stalls = asyncio.create_task(notice_stalls())
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    stalls.cancel()


def main():
    sniffer = open_sniffer()
    try:
        asyncio.run(serve())
    finally:
        _, lost = struct.unpack("II", sniffer.getsockopt(263, STATISTICS, 8))
        print(json.dumps({"counts": COUNTS, "forbidden": FORBIDDEN, "packets_not_seen": lost, "stalls": STALLS,
                          "times": {f"{box} {kind}": list(t) for (box, kind), t in TIMES.items()}}), flush=True)


main()
