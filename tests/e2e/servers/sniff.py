# SPDX-License-Identifier: GPL-2.0-only
"""The second oracle: every packet that reaches the test internet. Each new (destination, protocol,
port) is written down once; a packet with the canary in it each time."""
import socket
import struct


def dissect(frame):
    """(source, destination, protocol, destination port, is a bare RST) or None"""
    (kind,) = struct.unpack("!H", frame[12:14])
    if kind == 0x0800:
        head = 14 + (frame[14] & 15) * 4
        proto, src, dst = frame[23], frame[26:30], frame[30:34]
        text = [socket.inet_ntop(socket.AF_INET, a) for a in (src, dst)]
    elif kind == 0x86DD:
        head, proto = 54, frame[20]
        text = [socket.inet_ntop(socket.AF_INET6, a) for a in (frame[22:38], frame[38:54])]
    else:
        return None
    port = 0
    if proto in (6, 17, 33, 132, 136) and len(frame) >= head + 4:
        (port,) = struct.unpack("!H", frame[head + 2:head + 4])
    return text[0], text[1], proto, port


def serve(log, canary, device):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((device, 0))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    seen = set()
    while True:
        frame, where = sock.recvfrom(65536)
        if where[2] == socket.PACKET_OUTGOING or len(frame) < 34:
            continue
        found = dissect(frame)
        if not found:
            continue
        src, dst, proto, port = found
        if canary in frame:
            log(kind="canary", dst=dst, proto=proto, port=port)
        if (dst, proto, port) not in seen:
            seen.add((dst, proto, port))
            # Neighbour discovery and listener reports are the veth's own talk, not the sandbox's.
            if not (proto in (0, 58) and (dst.startswith("ff02:") or dst.startswith("fe80:"))):
                log(kind="packet", src=src, dst=dst, proto=proto, port=port)
