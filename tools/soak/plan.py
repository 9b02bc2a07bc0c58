# SPDX-License-Identifier: GPL-2.0-only
"""What all parts of the soak agree on: addresses, names, policies. Sandbox 0 is started by `nej run`
with a network of its own, sandbox 1 is a cgroup in the host's network that `nej attach` confines.
Each has addresses and names of its own, so that a packet tells whose it is. Read soak next."""

RESOLVER = "9.9.9.9"
EVIL4, EVIL6 = "45.33.32.156", "2600:3c01::156"
PRIVATE = ("10.0.0.5", "192.168.7.7", "172.16.9.9", "100.64.1.1", "169.254.169.254")
HTTP, TLS, ECHO, KERNEL_TCP, KERNEL_UDP = 80, 443, 7000, 5432, 5433
KINDS = ("plain", "look", "turn", "kern")  # turn: allowed by every other policy only
TICK, STALL = 0.05, 0.5  # seconds: a program that looks at the clock so often was held up for so long
SECRET = "real-value-of-the-soaks-secret-0123456789"


def address(box, kind):
    return f"93.184.216.{60 + 20 * box + KINDS.index(kind)}"


def name(box, kind):
    return f"{kind}.s{box}.test"


def owner(addr):
    """(box, kind) of an address, or None: nobody's."""
    for box in (0, 1):
        for kind in KINDS:
            if address(box, kind) == addr:
                return box, kind
    return None


def may_leave(addr, proto, port):
    """Is there any policy of the soak that lets a packet go there?"""
    if addr == RESOLVER:
        return port == 53
    found = owner(addr)
    if not found:
        return False
    ports = {"plain": (HTTP, TLS, ECHO), "look": (TLS,), "turn": (HTTP, TLS, ECHO)}
    if found[1] == "kern":
        return found[0] == 1 and (proto, port) in ((6, KERNEL_TCP), (17, KERNEL_UDP))
    return proto == 6 and port in ports[found[1]]


def zone():
    names = {name(box, kind): address(box, kind) for box in (0, 1) for kind in KINDS}
    names.update({f"private.s{box}.test": PRIVATE[0] for box in (0, 1)})
    return names


def policy(box, is_open):
    """is_open: with `turn`"""
    def rules(kind):
        return [f"  - allow: {name(box, kind)}", f"  - allow: tcp://{name(box, kind)}:{ECHO}"]
    lines = ["version: 1", "rules:", *rules("plain"), f"  - allow: private.s{box}.test",
             f"  - allow: GET https://{name(box, 'look')}/**"]
    if is_open:
        lines += rules("turn")
    if box == 1:
        lines += [f"  - allow: tcp://{address(1, 'kern')}:{KERNEL_TCP}", "    transport: kernel",
                  f"  - allow: udp://{address(1, 'kern')}:{KERNEL_UDP}", "    transport: kernel"]
    else:
        lines += ["secrets:", f"  TOKEN: {{ env: TOKEN, for: [{name(box, 'look')}] }}"]
    return "\n".join(lines) + "\n"
