# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: a function a suite, each a generator of rows for the table. All contenders of a
suite are up at once; every round measures each of them once, in a new random order, and ratios are
taken within a round before the median. Read lab.py for the contenders."""
import json
import os
import random
import resource
import statistics
import subprocess
import time

import live
import web
from lab import (ASKED, ELSEWHERE, NAME, ORIGIN, PROXY_PORT, RESOLVER, STUB_PORT, BenchError, Contender, Echo,
                 Haproxy, HaproxySplice, Nej, NejConnect, Nginx, Outside, Relay, build_decide)


class Row:
    """One figure. bar None: for information. `below`: the bar is an upper bound."""

    def __init__(self, contender, what, value, unit, bar=None, below=True, note=""):
        self.contender, self.what, self.value, self.unit = contender, what, value, unit
        self.bar, self.below, self.note = bar, below, note

    @property
    def verdict(self):
        if self.bar is None:
            return ""
        return "ok" if (self.value <= self.bar if self.below else self.value >= self.bar) else "OVER"


class Rounds:
    """Figures by (contender, figure), a value a round."""

    def __init__(self, lab):
        self.lab, self.values = lab, {}

    def run(self, things, measure):
        """measure(thing) -> {(contender, figure): value}"""
        for number in range(self.lab.options.rounds):
            for thing in self.lab.rng.sample(things, len(things)):
                for key, value in measure(thing).items():
                    self.values.setdefault(key, {})[number] = value
            print(".", end="", flush=True)
        print()

    def median(self, name, figure):
        return statistics.median(self.values[name, figure].values())

    def against(self, name, other, figure, how=lambda a, b: a / b):
        """Median over rounds of how(name's, other's)."""
        mine, theirs = self.values[name, figure], self.values[other, figure]
        return statistics.median(how(mine[r], theirs[r]) for r in mine if r in theirs)

    def has(self, name):
        return any(key[0] == name for key in self.values)


def peers(lab, *kinds):
    up = []
    for kind in kinds:
        if kind.is_here():
            up.append(kind(lab).start())
        else:
            print(f"  {kind.name} is not installed: left out")
    return up


def nej_pair(lab):
    if not lab.options.nej:
        return []
    nej = Nej(lab).start()
    return [nej, NejConnect(nej)]


def nej_two(lab):
    """With as many threads as nginx, HAProxy and the relay have: for rates."""
    return [Nej(lab, "nej-2-threads", options=["--threads=2"]).start()] if lab.options.nej else []


def check(contender):
    """What is measured must work: an allowed name end to end."""
    done = contender.tunnel("tun", count=3, conc=1)
    if done["ops"] != 3:
        raise BenchError(f"{contender.name}: an allowed tunnel does not work: {done}")


def suite_tunnels(lab):
    """New tunnels, 32 at once; added latency with one at a time, all on one CPU."""
    up = [Contender(lab), Relay(lab).start(), *peers(lab, Nginx, Haproxy), *nej_pair(lab), *nej_two(lab)]
    secs, rounds = lab.options.secs, Rounds(lab)

    def measure(c):
        many, one = c.tunnel("tun", secs=secs), c.tunnel("tun", secs=secs / 2, conc=1, pinned=True)
        return {(c.name, "cpu"): many["cpu_per_op"], (c.name, "rate"): many["rate"],
                (c.name, "p50"): one["p50"], (c.name, "p99"): one["p99"],
                (c.name, "errors"): many["errors"] + one["errors"]}
    for c in up:
        check(c)
    rounds.run(up, measure)
    for c in up:
        yield Row(c.name, "tunnels/s", rounds.median(c.name, "rate"), "/s",
                  note=f"{rounds.against(c.name, 'direct', 'rate'):.2f} of direct"
                       + (f", {sum(rounds.values[c.name, 'errors'].values())} errors"
                          if any(rounds.values[c.name, "errors"].values()) else ""))
        if c.group:
            yield Row(c.name, "CPU a tunnel", rounds.median(c.name, "cpu"), "us")
            yield Row(c.name, "added latency p50", rounds.against(c.name, "direct", "p50", lambda a, b: a - b),
                      "us", bar=110 if c.name == "nej" else None,
                      note=f"p99 +{rounds.against(c.name, 'direct', 'p99', lambda a, b: a - b):.0f}")
    if rounds.has("nej"):
        yield Row("nej", "CPU, of relay-lean", rounds.against("nej", "relay-lean", "cpu"), "x", 1.10)
        yield Row("nej-connect", "CPU, of nej", rounds.against("nej-connect", "nej", "cpu"), "x", 1.3)
        for peer in ("nginx", "haproxy"):
            if rounds.has(peer):
                yield Row("nej-2-threads", f"tunnels/s, of {peer}",
                          rounds.against("nej-2-threads", peer, "rate"), "x", 1.0, False)


def suite_messages(lab):
    """Messages (21 bytes out, 300 back) on 32 kept tunnels."""
    up = [Contender(lab), Relay(lab).start(), *peers(lab, Nginx, Haproxy), *nej_pair(lab), *nej_two(lab)]
    secs, rounds = lab.options.secs, Rounds(lab)

    def measure(c):
        many, one = c.tunnel("keep", secs=secs), c.tunnel("keep", secs=secs / 2, conc=1, pinned=True)
        return {(c.name, "cpu"): many["cpu_per_op"], (c.name, "rate"): many["rate"],
                (c.name, "p50"): one["p50"]}
    rounds.run(up, measure)
    for c in up:
        yield Row(c.name, "messages/s", rounds.median(c.name, "rate"), "/s",
                  note=f"{rounds.against(c.name, 'direct', 'rate'):.2f} of direct")
        if c.group:
            yield Row(c.name, "CPU a message", rounds.median(c.name, "cpu"), "us")
            yield Row(c.name, "added latency p50", rounds.against(c.name, "direct", "p50", lambda a, b: a - b), "us")
    if rounds.has("nej"):
        yield Row("nej", "CPU, of relay-lean", rounds.against("nej", "relay-lean", "cpu"), "x", 1.0)


def suite_bulk(lab):
    """One stream and eight; CPU of the contender alone."""
    up = [Contender(lab), Relay(lab).start(), *peers(lab, Nginx, HaproxySplice), *nej_pair(lab)[:1]]
    rounds, total = Rounds(lab), int(lab.options.secs * (1 << 30))

    def measure(c):
        found = {}
        for conc in (1, 8):
            r = c.tunnel("bulk", conc=conc, bytes=total // conc)
            found[c.name, f"rate{conc}"] = r["mibps"]
            found[c.name, f"cpu{conc}"] = r["cpu_us"] / 1e6 / (r["bytes"] / (1 << 30))
        return found
    rounds.run(up, measure)
    for c in up:
        for conc in (1, 8):
            streams = f"{conc} stream{'s' if conc > 1 else ''}"
            yield Row(c.name, f"MiB/s, {streams}", rounds.median(c.name, f"rate{conc}"), "MiB/s",
                      note=f"{rounds.against(c.name, 'direct', f'rate{conc}'):.2f} of direct")
            if c.group:
                yield Row(c.name, f"CPU s/GiB, {streams}", rounds.median(c.name, f"cpu{conc}"), "s",
                          0.26 if c.name == "nej" else None)
    if rounds.has("nej"):
        for conc in (1, 8):
            yield Row("nej", f"CPU, of relay-lean, {conc}", rounds.against("nej", "relay-lean", f"cpu{conc}"), "x")


def suite_denials(lab):
    """Refused by name: transparent (a hard-coded address, denied SNI) and CONNECT; calls that the
    kernel refuses, with the supervisor's work for their events."""
    up = [*peers(lab, Nginx, Haproxy), *nej_pair(lab)]
    rounds = Rounds(lab)

    def measure(c):
        r = c.tunnel("tun", name="denied.nowhere.test", deny=1, secs=lab.options.secs) \
            if isinstance(c, NejConnect) else c.deny(secs=lab.options.secs)
        return {(c.name, "cpu"): r["cpu_per_op"], (c.name, "rate"): r["rate"], (c.name, "errors"): r["errors"]}
    rounds.run(up, measure)
    bars = {"nej": 23, "nej-connect": 45}
    for c in up:
        yield Row(c.name, "CPU a denial", rounds.median(c.name, "cpu"), "us", bars.get(c.name),
                  note=f"{rounds.median(c.name, 'rate'):,.0f}/s"
                       + (f", {rounds.median(c.name, 'errors'):.0f} errors" if rounds.median(c.name, "errors") else ""))
    if rounds.has("nej") and rounds.has("nginx"):
        yield Row("nej", "CPU, of nginx", rounds.against("nej", "nginx", "cpu"), "x")
    for c in up:
        if isinstance(c, Nej):
            yield from refused_calls(lab, c)


REFUSED = (  # what, arguments of the load generator
    ("UDP sendto, one address", {"udp": 1, "spread": 1}),
    ("UDP sendto, 4,000 addresses", {"udp": 1, "spread": 4000}),
    ("TCP connect, one address", {"udp": 0, "spread": 1}),
)


def refused_calls(lab, nej):
    rounds, count = Rounds(lab), int(50000 * lab.options.secs)

    def measure(case):
        what, args = case
        r = lab.run_load(nej, "refused", dial=f"{ELSEWHERE}:9999", count=count, **args)
        if r["refused"] != r["ops"]:
            raise BenchError(f"{what}: {r['ops'] - r['refused']} calls were not refused")
        time.sleep(0.3)  # the events' work may come after
        return {(what, "call"): r["ns"] / 1000, (what, "supervisor"): r["cpu_us"] / r["ops"]}
    rounds.run(list(REFUSED), measure)
    for what, _ in REFUSED:
        call, more = rounds.median(what, "call"), rounds.median(what, "supervisor")
        yield Row("nej", what, call + more, "us", 3, note=f"call {call:.2f}, events {more:.2f}")


def suite_idle(lab):
    """Memory (PSS of all processes of nej) and CPU of idle tunnels and of an idle sandbox."""
    for c in (Relay(lab), *([Nej(lab)] if lab.options.nej else [])):
        c.start()
        # What is paid once (the audit ring's pages, the synthetic address) is no tunnel's.
        c.tunnel("tun", count=8000)
        time.sleep(1)
        before = c.pss_kib()
        argv, prepare = c.client([lab.load, "idle", "conc=5000", f"dial={c.dial}", f"via={c.via}", f"name={NAME}"])
        held = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=prepare)
        count = json.loads(held.stdout.readline())["held"]
        time.sleep(1.5)
        cpu, span = c.cpu_us(), max(2.0, lab.options.secs)
        time.sleep(span)
        cpu, after = (c.cpu_us() - cpu) / span, c.pss_kib()
        held.stdin.close()
        held.wait()
        bars = (8, 0.5, 0) if c.name == "nej" else (None, None, None)
        yield Row(c.name, "PSS, no tunnel", before / 1024, "MiB", bars[0])
        yield Row(c.name, f"PSS a tunnel, {count}", (after - before) / max(1, count), "KiB", bars[1],
                  note=f"{after / 1024:.1f} MiB in all")
        yield Row(c.name, "CPU a second, idle", cpu, "us", bars[2])
        c.stop()


SIZES = (10, 10000, 1000000)


def rule_list(lab, size):
    """`size` made-up domains, one a line, with bench.test in the middle."""
    path = lab.dir / f"list-{size}"
    if path.exists():
        return path
    rng, names = random.Random(size), set()
    while len(names) < size - 1:
        names.add("".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=rng.randint(6, 14)))
                  + rng.choice((".com", ".net", ".org", ".io", ".dev")) + ".test")
    names = sorted(names)
    rng.shuffle(names)
    names.insert(size // 2, "bench.test")
    path.write_text("\n".join(names) + "\n")
    return path


def list_policy(lab, size):
    return f"version: 1\nrules:\n  - allow: {{list: {rule_list(lab, size)}}}\n"


def seconds(argv, **more):
    begin = time.monotonic()
    subprocess.run([str(a) for a in argv], check=True, stdout=subprocess.DEVNULL, **more)
    return time.monotonic() - begin


def cpu_seconds():
    """Of all children that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def suite_policy(lab):
    """10, 10,000 and 1,000,000 hosts on a list: loading, memory, tunnels, a decision."""
    if not lab.options.nej:
        return
    up, rounds = [], Rounds(lab)
    for size in SIZES:
        nej = Nej(lab, f"nej-{size}", list_policy(lab, size)).start()
        nej.size = size
        check(nej)
        up.append(nej)

    def measure(nej):
        file = lab.dir / f"{nej.name}.yaml"
        tunnels = nej.tunnel("tun", secs=lab.options.secs / 2, conc=16)
        before = cpu_seconds()
        return {(nej.name, "cpu"): tunnels["cpu_per_op"],
                (nej.name, "load"): seconds([lab.options.nej, "check", file]),
                (nej.name, "load cpu"): cpu_seconds() - before}
    rounds.run(up, measure)
    small = up[0]
    for nej in up:
        big = nej.size == SIZES[-1]
        yield Row(nej.name, "loading (nej check)", rounds.median(nej.name, "load"), "s", 0.3 if big else None,
                  note=f"CPU {rounds.median(nej.name, 'load cpu'):.2f} s, sandbox up in {nej.started_s:.2f} s")
        yield Row(nej.name, "PSS", nej.pss_kib() / 1024, "MiB")
        yield Row(nej.name, "CPU a tunnel", rounds.median(nej.name, "cpu"), "us")
    big = up[-1]
    yield Row(big.name, "image and PSS over 10 hosts",
              (big.pss_kib() - small.pss_kib() + big.image_kib()) / 1024, "MiB", 32,
              note=f"image {big.image_kib() / 1024:.1f}")
    yield Row(big.name, "CPU a tunnel, of 10 hosts", rounds.against(big.name, small.name, "cpu"), "x", 1.05)
    yield from decisions(lab)


def decisions(lab):
    """The decision function alone, in a process of its own (tools/bench/decide)."""
    binary = build_decide(lab.options.build)
    if not binary:
        print("  nej's objects are not in the build directory: decisions left out")
        return
    for size in SIZES:
        listed = rule_list(lab, size)
        out = subprocess.run([str(binary), str(lab.dir / f"nej-{size}.yaml"), str(listed)], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        result = json.loads(out)
        for kind in ("allowed", "denied"):
            yield Row("decide", f"{kind}, {size:,} hosts", result[kind], "ns", 1000)


def suite_dns(lab):
    """DNS answers, 64 questions in flight, against a bare UDP echo; p50 with one in flight. The
    stub is asked at its own address (as the echo is) and once through the hooks."""
    up = [Echo(lab, False).start(), Echo(lab, True).start()]
    sizes = (SIZES[0], SIZES[-1]) if lab.options.nej else ()
    cases = [(e, "echo", {"server": e.dial, "name": "w%d.bench.test", "names": 1000}) for e in up]
    for size in sizes:
        nej = Nej(lab, f"nej-{size}", list_policy(lab, size)).start()
        stub = Outside(nej, f"stub-{size}", f"127.0.0.1:{STUB_PORT}")
        names = question_names(lab, size)
        for kind, file in names.items():
            cases.append((stub, kind, {"server": stub.dial, "file": file}))
        if size == SIZES[0]:
            cases.append((nej, "allowed", {"server": ASKED, "file": names["allowed"]}))
            cases.append((nej, "denied", {"server": ASKED, "file": names["denied"]}))
    rounds = Rounds(lab)

    def measure(case):
        c, kind, args = case
        many = lab.run_load(c, "query", secs=lab.options.secs / 2, window=64, **args)
        one = lab.run_load(c, "query", pinned=True, secs=lab.options.secs / 4, window=1, **args)
        # A flood of denied names can fill the audit ring: then it is REFUSED, no less a no.
        if kind == "allowed" and many["answers"] != many["ops"] or kind == "denied" and \
                (many["answers"] or many["nxdomain"] < 0.9 * many["ops"]):
            raise BenchError(f"{c.name}: wrong answers to {kind} names: {many}")
        name = f"{c.name} {kind}"
        return {(name, "cpu"): many["cpu_per_op"], (name, "rate"): many["rate"], (name, "p50"): one["p50"],
                (name, "lost"): many["lost"]}
    for case in cases:
        measure(case)  # fills caches
    rounds.run(cases, measure)
    for c, kind, _ in cases:
        name, is_stub = f"{c.name} {kind}", isinstance(c, Outside)
        yield Row(name, "CPU an answer", rounds.median(name, "cpu"), "us", 4.5 if is_stub else None,
                  note=f"{rounds.median(name, 'rate') / 1000:,.0f} k/s, p50 {rounds.median(name, 'p50'):.1f} us")
        if kind != "echo":
            yield Row(name, "CPU an answer, of echo", rounds.against(name, "udp-echo echo", "cpu"), "x")
            yield Row(name, "answers/s, of echo", rounds.against(name, "udp-echo echo", "rate"), "x",
                      0.9 if is_stub else None, below=False)


def question_names(lab, size):
    rng, listed = random.Random(size), rule_list(lab, size).read_text().split()
    allowed, denied = lab.dir / f"allowed-{size}", lab.dir / f"denied-{size}"
    allowed.write_text("".join(f"w{i}.{rng.choice(listed)}\n" for i in range(1000)))
    denied.write_text("".join(f"api{i}.name{i % 50}.org.example\n" for i in range(1000)))
    return {"allowed": allowed, "denied": denied}


KERNEL_POLICY = f"""version: 1
rules:
  - allow: {ORIGIN}:443
    transport: kernel
"""


def suite_connect(lab):
    """Time within connect(), in the sandbox's cgroup against out of it: redirected to nej's
    listener (outside: dialled at its address), straight to the origin by `transport: kernel` in the
    host's namespace, straight to a listener of its own in the sandbox's."""
    if not lab.options.nej:
        return
    nej, straight = Nej(lab).start(), Nej(lab, "nej-host", KERNEL_POLICY, ["--net=host"]).start()
    out, out_host = Outside(nej, "no BPF", f"127.0.0.1:{PROXY_PORT}"), Outside(straight, "no BPF", f"{ORIGIN}:443")
    cases = [(nej, "redirect", {"dial": nej.dial}), (out, "redirect", {"dial": out.dial}),
             (straight, "straight", {"dial": out_host.dial}), (out_host, "straight", {"dial": out_host.dial}),
             (nej, "own loopback", {"accept": 1}), (out, "own loopback", {"accept": 1})]
    rounds = Rounds(lab)
    lab.options.rounds, before = max(21, lab.options.rounds), lab.options.rounds

    def measure(case):
        c, kind, args = case
        r = lab.run_load(c, "connect", count=int(2000 * lab.options.secs), **args)
        side = "no BPF" if isinstance(c, Outside) else "nej"
        return {(f"{side} {kind}", "ns"): r["ns"], (f"{side} {kind}", "p50"): r["p50"] * 1000}
    rounds.run(cases, measure)
    lab.options.rounds = before
    for kind, bar in (("redirect", 1.15), ("straight", 1.05), ("own loopback", None)):
        for side in ("no BPF", "nej"):
            yield Row(side, f"connect(), {kind}", rounds.median(f"{side} {kind}", "p50"), "ns",
                      note=f"mean {rounds.median(f'{side} {kind}', 'ns'):,.0f}")
        yield Row("nej", f"connect(), {kind}, of no BPF",
                  rounds.against(f"nej {kind}", f"no BPF {kind}", "p50"), "x", bar)


def first_of_all():
    """Real-time priority, which all processes of the command inherit: waiting for other work of a
    busy machine is no part of a start."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def suite_startup(lab):
    """nej run -- true, over true alone."""
    if not lab.options.nej:
        return
    rounds, policy = Rounds(lab), lab.dir / "start.yaml"
    policy.write_text("version: 1\nrules:\n  - allow: [.bench.test]\n")
    commands = {"true": ["/bin/true"],
                "nej run": [lab.options.nej, "run", "-p", policy, "-n", f"bench-{os.getpid()}-true",
                            "--audit", lab.dir / "start.jsonl", "--resolver", RESOLVER, "--", "/bin/true"]}
    rounds.run(list(commands), lambda c: {(c, "ms"): 1000 * min(
        seconds(commands[c], stderr=subprocess.DEVNULL, cwd="/", preexec_fn=first_of_all) for _ in range(3))})
    for c in commands:
        yield Row(c, "wall time", rounds.median(c, "ms"), "ms")
    yield Row("nej run", "over true", rounds.against("nej run", "true", "ms", lambda a, b: a - b), "ms", 60)


def looking_inside(suite):
    """A suite of web.py or live.py, with the parts of this file it needs."""
    def run(lab):
        yield from suite(lab, Rounds, Row)
    run.__doc__ = suite.__doc__
    return run


SUITES = {name[6:]: value for name, value in list(globals().items()) if name.startswith("suite_")}
SUITES.update((name[6:].replace("_", "-"), looking_inside(value)) for module in (web, live)
              for name, value in vars(module).items() if name.startswith("suite_"))
