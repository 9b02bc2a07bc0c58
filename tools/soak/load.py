# SPDX-License-Identifier: GPL-2.0-only
"""The soak's program inside a sandbox: so many attempts a second of every kind, allowed and denied, and
a few tunnels that stay. Arguments: box seconds rate canary bundle. When done it prints what came of them
as JSON and stays a while, so that what is left open shows. Read plan.py first."""
import collections
import errno
import json
import os
import queue
import random
import socket
import ssl
import struct
import sys
import threading
import time

import plan

BOX, SECONDS, RATE, CANARY, BUNDLE = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5]
PROXY = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rpartition(":")[2].strip("/")))
TIMEOUT = 4
THREADS = 24
PLAIN, LOOK, TURN = (plan.name(BOX, kind) for kind in ("plain", "look", "turn"))
KERN = plan.address(BOX, "kern")
LOCK = threading.Lock()
COUNTS = collections.Counter()  # "operation outcome"
ODD = []                        # [begin, end, operation, what]: allowed, and did not work
PASSED = []                     # denied, and worked
STALLS = []                     # [begin, end]: this program was not run
END = time.monotonic() + SECONDS


class Wrong(Exception):
    """A denied attempt that got somewhere."""


class Failed(Exception):
    """An allowed one that did not."""


# --- pieces

def question(name, kind=1):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!HHHHHH", random.randrange(65536), 0x100, 1, 0, 0, 0) + labels + b"\0" + \
        struct.pack("!HH", kind, 1)


def ask(name, is_denied=False):
    """(rcode, address or None). Names of `turn` may be denied."""
    count("dns", "denied" if is_denied else "asked")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        sent = question(name)
        s.sendto(sent, (plan.RESOLVER, 53))
        while True:
            reply = s.recv(2048)
            if reply[:2] == sent[:2]:
                break
    code, (n_answers,), at = reply[3] & 15, struct.unpack("!H", reply[6:8]), len(sent)
    if is_denied and code in (3, 5):
        count("dns", "refused")
    return code, socket.inet_ntoa(reply[at + 12:at + 16]) if n_answers else None


def resolve(name):
    code, address = ask(name, name == TURN)
    if not address:
        raise Failed(f"{name} has no address: rcode {code}")
    return address


def dial(address, port):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(TIMEOUT)
    try:
        s.connect((address, port))
    except OSError:
        s.close()
        raise
    return s


def request(s, host, path="/", more=""):
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
    data = b""
    while b"\r\n\r\n" not in data:
        piece = s.recv(4096)
        if not piece:
            break
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        raise Failed("closed without an answer")
    while b"Content-Length: " in head and len(body) < int(head.partition(b"Content-Length: ")[2].split(b"\r")[0]):
        piece = s.recv(4096)
        if not piece:
            raise Failed("half an answer")
        body += piece
    return int(head.split(b" ")[1]), body


def want(found, host):
    if found != (200, f"ok {host}\n".encode()):
        raise Failed(f"{found[0]} {found[1][:80]!r}")
    return "ok"


def tunnel(host, port):
    s = dial(*PROXY)
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = s.recv(1024)
        if not piece:
            break
        head += piece
    return s, int(head.split(b" ")[1]) if head else 0


class Trust:
    """A context whose file may change: a new worker has a new authority."""

    def __init__(self, path):
        self.path, self.stamp, self.context = path, None, None

    def get(self):
        stat = os.stat(self.path)
        stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        with LOCK:
            if stamp != self.stamp:
                self.context, self.stamp = ssl.create_default_context(cafile=self.path), stamp
            return self.context


ORIGINS = Trust(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ca.pem"))
INSPECTED = Trust(BUNDLE)


def secure(s, name, trust):
    return trust.get().wrap_socket(s, server_hostname=name)


# --- allowed

def http():
    with dial(resolve(PLAIN), plan.HTTP) as s:
        found = "ok"
        for _ in range(random.choice((1, 1, 3))):
            found = want(request(s, PLAIN), PLAIN)
            count("http-requests", found)
        return found


def https():
    with dial(resolve(PLAIN), plan.TLS) as raw, secure(raw, PLAIN, ORIGINS) as s:
        return want(request(s, PLAIN), PLAIN)


def connect():
    s, status = tunnel(PLAIN, plan.TLS)
    with s:
        if status != 200:
            raise Failed(f"CONNECT: {status}")
        with secure(s, PLAIN, ORIGINS) as t:
            return want(request(t, PLAIN), PLAIN)


def inspected():
    token = os.environ.get("TOKEN", "-")
    with dial(resolve(LOOK), plan.TLS) as raw, secure(raw, LOOK, INSPECTED) as s:
        found = "ok"
        for _ in range(random.choice((1, 4))):
            found = want(request(s, LOOK, "/x", f"Authorization: Bearer {token}\r\n"), LOOK)
            count("inspected-requests", found)
        return found


def turn():
    """Allowed or not: whose turn it is the origin's side knows."""
    code, address = ask(TURN, True)
    if not address:
        return "refused"
    with dial(address, plan.HTTP) as s:
        status, body = request(s, TURN)
    return "ok" if status == 200 and body == f"ok {TURN}\n".encode() else "refused"


def kernel_tcp():
    with dial(KERN, plan.KERNEL_TCP) as s:
        count("kernel-calls", "passed")
        s.sendall(b"hello")
        if s.recv(5) != b"hello":
            raise Failed("no echo")
        return "ok"


def kernel_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.sendto(b"hello", (KERN, plan.KERNEL_UDP))
        count("kernel-calls", "passed")
        if s.recv(5) != b"hello":
            raise Failed("no echo")
        return "ok"


def name_asked():
    resolve(random.choice((PLAIN, LOOK)))
    return "ok"


# --- denied: an exception of the system is what is wanted, but which?

def refused_call(act):
    try:
        act()
    except PermissionError:
        count("kernel-calls", "refused")
        return "refused"
    except OSError as error:
        if error.errno != errno.EPROTONOSUPPORT:
            return f"other-{type(error).__name__}"
        count("kernel-calls", "refused")
        return "refused"
    raise Wrong(act.__name__)


def refused_port():
    return refused_call(lambda: dial(plan.EVIL4, random.choice((9999, 25, 22))))


def refused_port6():
    return refused_call(lambda: dial(plan.EVIL6, 9999))


def refused_private():
    return refused_call(lambda: dial(random.choice(plan.PRIVATE), random.choice((22, 9999))))


def datagram(address, port):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(CANARY.encode(), (address, port))


def refused_datagram():
    return refused_call(lambda: datagram(*random.choice(
        ((plan.EVIL4, 9999), (plan.EVIL4, 443), (plan.EVIL6, 443), (plan.address(BOX, "plain"), 443),
         (plan.PRIVATE[4], 80)))))


def refused_type():
    return refused_call(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close())


def no_answer(s):
    """Nothing of the other side may come; an answer of nej's own says 4xx."""
    try:
        data = s.recv(4096)
    except (ConnectionError, TimeoutError) as error:
        return "closed" if isinstance(error, ConnectionError) else "timeout"
    if data.startswith(b"HTTP/1.1 4") or data.startswith(b"HTTP/1.1 5"):
        return "status"
    if data and data[0] != 21:
        raise Wrong(f"an answer: {data[:60]!r}")
    return "alert" if data else "closed"


def denied_http():
    address = random.choice((plan.EVIL4, plan.address(BOX, "plain"), *plan.PRIVATE))
    with dial(address, plan.HTTP) as s:
        s.sendall(f"GET /{CANARY} HTTP/1.1\r\nHost: evil.{CANARY}.test\r\n\r\n".encode())
        return no_answer(s)


def client_hello(name):
    """Of OpenSSL, as it would send it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl._create_unverified_context().wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


HELLO = client_hello(f"evil.{CANARY}.test")


def denied_tls():
    with dial(random.choice((plan.EVIL4, plan.address(BOX, "look"))), plan.TLS) as s:
        s.sendall(HELLO)
        return no_answer(s)


def denied_connect():
    host = random.choice((f"evil.{CANARY}.test", plan.EVIL4, f"private.s{BOX}.test", "169.254.169.254"))
    s, status = tunnel(host, random.choice((80, 443)))
    with s:
        if status == 200:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return no_answer(s)
        return "status" if status else "closed"


def denied_name():
    name = random.choice((f"{random.randrange(1 << 40):x}.{CANARY}.test", "evil.test", f"x.{PLAIN}"))
    code, address = ask(name, True)
    if address:
        raise Wrong(f"{name} has an address")
    return "refused" if code in (3, 5) else f"rcode-{code}"


def denied_secret():
    """The placeholder to a host it is not for, in clear."""
    with dial(resolve(PLAIN), plan.HTTP) as s:
        status, body = request(s, PLAIN, more=f"X: {os.environ.get('TOKEN', CANARY)}\r\n")
        if status == 200:
            raise Wrong(f"a placeholder passed: {body[:60]!r}")
        return "status"


WORK = [(10, http, True), (8, https, True), (6, connect, True), (7, inspected, True), (6, turn, True),
        (6, name_asked, True), (6, refused_port, False), (3, refused_port6, False), (5, refused_private, False),
        (10, refused_datagram, False), (3, refused_type, False), (8, denied_http, False), (6, denied_tls, False),
        (6, denied_connect, False), (10, denied_name, False)]
WORK += [(3, denied_secret, False)] if BOX == 0 else [(5, kernel_tcp, True), (5, kernel_udp, True)]


# --- doing it

def count(what, outcome):
    with LOCK:
        COUNTS[f"{what} {outcome}"] += 1


def attempt(act, is_allowed):
    begin = time.time()
    count(act.__name__, "tried")
    try:
        outcome = act()
    except Wrong as wrong:
        outcome = "PASSED"
        PASSED.append([begin, time.time(), act.__name__, str(wrong)])
    except (Failed, OSError) as error:
        outcome = "failed"
        if isinstance(error, PermissionError):
            count("kernel-calls", "refused")
        if is_allowed and len(ODD) < 20000:
            ODD.append([begin, time.time(), act.__name__, f"{type(error).__name__} {error}"])
    count(act.__name__, outcome)


def work(tasks):
    while task := tasks.get():
        attempt(*task)


def keep_tunnel(kind):
    """A connection that carries a message five times a second and is made anew when it ended."""
    host, s = plan.name(BOX, kind), None
    while time.monotonic() < END:
        begin = time.time()
        try:
            if not s:
                count(f"tunnel-{kind}", "tried")
                s = dial(resolve(host), plan.ECHO)
                count(f"tunnel-{kind}", "opened")
            s.sendall(b"m" * 64)
            if len(s.recv(64)) == 0:
                raise Failed("ended")
            count(f"tunnel-{kind}", "messages")
        except (Failed, OSError) as error:
            if isinstance(error, PermissionError):
                count("kernel-calls", "refused")
            if kind != "turn" and len(ODD) < 20000:
                ODD.append([begin, time.time(), f"tunnel-{kind}", f"{type(error).__name__} {error}"])
            count(f"tunnel-{kind}", "ended")
            if s:
                s.close()
            s = None
            time.sleep(0.3)
        time.sleep(0.2)
    if s:
        s.close()


def notice_stalls():
    while True:
        begin = time.time()
        time.sleep(plan.TICK)
        if time.time() - begin > plan.TICK + plan.STALL:
            STALLS.append((begin, time.time()))


def main():
    threading.stack_size(256 << 10)
    threading.Thread(target=notice_stalls, daemon=True).start()
    tasks = queue.Queue()
    threads = [threading.Thread(target=work, args=(tasks,), daemon=True) for _ in range(THREADS)]
    threads += [threading.Thread(target=keep_tunnel, args=(kind,), daemon=True)
                for kind in ("plain",) * 8 + ("turn",) * 4]
    for thread in threads:
        thread.start()
    weights, late, next_at = [w for w, _, _ in WORK], 0, time.monotonic()
    while next_at < END:
        next_at += 1 / RATE
        pause = next_at - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        if tasks.qsize() > 10 * THREADS:
            late += 1
            continue
        task = random.choices(WORK, weights)[0]
        tasks.put(task[1:])
    for _ in range(THREADS):
        tasks.put(None)
    for thread in threads:
        thread.join(15)
    stuck = sum(thread.is_alive() for thread in threads)
    print(json.dumps({"counts": COUNTS, "odd": ODD, "passed": PASSED, "left_out": late, "stuck": stuck,
                      "stalls": STALLS}), flush=True)
    time.sleep(float(os.environ.get("SOAK_LINGER", "6")))


main()
