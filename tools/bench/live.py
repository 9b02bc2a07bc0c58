# SPDX-License-Identifier: GPL-2.0-only
"""The suites of what happens to sandboxes while they run: attach, halt, reload, many at once, and their
memory. Times are those of the machine's one clock, from before a command's exec. Read lab.py first."""
import json
import pathlib
import statistics
import subprocess
import threading
import time

import web
from lab import (ELSEWHERE, NAME, ORIGIN, PROXY_PORT, RESOLVER, BenchError, Contender, Nej, NejConnect, build_load,
                 enter)

MIRROR_PORT = 7443
POLICY = f"""version: 1
rules:
  - allow: [.bench.test, ".bench.test:{MIRROR_PORT}"]
"""
KERNEL_POLICY = f"""version: 1
rules:
  - allow: {ORIGIN}:{MIRROR_PORT}
    transport: kernel
"""


def spread(values, unit="ms"):
    """p50, p90, p99 and the largest, for a note"""
    values = sorted(values)

    def at(share):
        return values[min(len(values) - 1, int(share * len(values)))]
    return f"p90 {at(0.9):.1f}, p99 {at(0.99):.1f}, max {values[-1]:.1f} {unit}, {len(values)} times"


def timed(argv, **more):
    """(begin, end, output) of a command that must succeed, in seconds."""
    begin = time.monotonic()
    done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)
    end = time.monotonic()
    if done.returncode:
        raise BenchError(f"{' '.join(map(str, argv))}: {done.stdout[-400:]}")
    return begin, end, done.stdout


class Attached(Nej):
    """A process in a cgroup and a network namespace that are not nej's, and nej attached to it."""

    def __init__(self, lab, name, policy=POLICY):
        super().__init__(lab, name, policy)
        self.group, self.target = lab.cgroup / name, lab.cgroup / f"{name}-target"
        self.file = lab.dir / f"{name}.yaml"
        self.file.write_text(policy)
        self.group.mkdir(exist_ok=True)
        self.target.mkdir(exist_ok=True)
        self.sandbox_group = self.target
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "86400"], stdin=subprocess.DEVNULL,
                                        start_new_session=True, preexec_fn=lambda: enter(self.target))
        lab.contenders.append(self)
        self.pid = self.process.pid
        own = pathlib.Path("/proc/self/ns/net").readlink()
        while pathlib.Path(f"/proc/{self.pid}/ns/net").readlink() == own:
            time.sleep(0.001)

    def start(self):
        """When the command begins and returns."""
        begin, end, _ = timed([self.lab.options.nej, "attach", "--pid", self.pid, "-p", self.file, "-n", self.sandbox,
                               "--audit", self.lab.dir / f"{self.name}.jsonl", "--resolver", RESOLVER,
                               "--background"], preexec_fn=lambda: enter(self.group), cwd="/")
        return begin, end

    def let_go(self):
        return timed([self.lab.options.nej, "detach", self.sandbox])[:2]

    def stop(self):
        subprocess.run([str(self.lab.options.nej), "detach", self.sandbox], stderr=subprocess.DEVNULL)
        super().stop()


def ask_in(nej, argv, **more):
    """Starts one of the load generator's modes inside."""
    argv, prepare = nej.client([str(a) for a in argv])
    return subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            preexec_fn=prepare, **more)


# --- attach

def attach_once(lab, number):
    """ms until the first refusal, until the command returned, until it was let go"""
    box = Attached(lab, f"attach-{number}")
    probe = ask_in(box, [lab.load, "refusal", f"dial={ELSEWHERE}:9999"])
    probe.stdout.readline()
    time.sleep(0.02)
    begin, end = box.start()
    refused = json.loads(probe.communicate()[0])["refused_ns"] / 1e9
    gone, back = box.let_go()
    box.stop()
    return (refused - begin) * 1000, (end - begin) * 1000, (back - gone) * 1000


def suite_attach(lab, Rounds, Row):
    """From the exec of `nej attach` to the first refused connect() inside, and to its return."""
    if not lab.options.nej:
        return
    times = [attach_once(lab, n) for n in range(max(10, 10 * lab.options.rounds))]
    for what, values in zip(("attach, to the first refusal", "attach, to its return", "detach"), zip(*times)):
        yield Row("nej", what, statistics.median(values), "ms", note=spread(values))


# --- halt

class Pour:
    """Tunnels that carry data all the time, with their origin's word for when it stopped."""

    def __init__(self, nej, conc, gap_ms, mirror):
        self.mirror = mirror
        self.client = ask_in(nej, [nej.lab.load, "pour", f"dial={nej.pour_dial}", f"via={nej.via}", f"name={NAME}",
                                   f"port={MIRROR_PORT}", f"conc={conc}", f"gap_ms={gap_ms}"])
        line = self.client.stdout.readline()
        if not line or json.loads(line)["open"] != conc:
            raise BenchError(f"{nej.name}: not all tunnels are open: {line!r}")

    @staticmethod
    def ask(process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def look(self):
        return self.ask(self.client), self.ask(self.mirror)

    def end(self):
        self.client.stdin.close()
        self.client.wait()


def halt_once(nej, conc, gap_ms, mirror):
    """ms from the exec of `nej halt` to the last byte at the client, at the origin, and to its return"""
    pour = Pour(nej, conc, gap_ms, mirror)
    time.sleep(0.6)
    before = pour.look()
    begin, end, _ = timed([nej.lab.options.nej, "halt", nej.sandbox])
    time.sleep(0.5)
    client, origin = pour.look()
    pour.end()
    timed([nej.lab.options.nej, "resume", nej.sandbox])
    if client["last_ns"] / 1e9 < begin - (gap_ms + 200) / 1000:
        raise BenchError(f"{nej.name}: nothing flowed when it was halted: {before} {client}")
    if client["open"] or (nej.name != "nej-kernel" and client["ended"] != conc):
        raise BenchError(f"{nej.name}: tunnels are open after the halt: {client}")
    return [(ns / 1e9 - begin) * 1000 for ns in (client["last_ns"], origin["last_ns"])] + [(end - begin) * 1000]


def pouring(lab):
    """The sandboxes of the halt suite, each with where its tunnels are dialled."""
    nej = Nej(lab, policy=POLICY).start()
    nej.pour_dial = f"{nej.dial.rsplit(':', 1)[0]}:{MIRROR_PORT}"
    connect = NejConnect(nej)
    connect.sandbox, connect.pour_dial = nej.sandbox, connect.dial
    straight = Nej(lab, "nej-kernel", KERNEL_POLICY, ["--net=host"]).start()
    straight.pour_dial = f"{ORIGIN}:{MIRROR_PORT}"
    return [nej, connect, straight]


def suite_halt(lab, Rounds, Row):
    """From the exec of `nej halt` to the last byte of 1,000 open tunnels that carry data: each 256 bytes
    and back ten times a second, and as fast as the machine goes."""
    if not lab.options.nej:
        return
    lab.load = build_load(lab.options.build)
    mirror = subprocess.Popen([str(lab.load), "mirror", f"listen={ORIGIN}:{MIRROR_PORT}"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, preexec_fn=lambda: enter(lab.cgroup / "origin"))
    up, found = pouring(lab), {}
    for _ in range(max(3, lab.options.rounds)):
        for nej in up:
            for gap_ms in (100, 0):
                found.setdefault((nej.name, gap_ms), []).append(halt_once(nej, 1000, gap_ms, mirror))
        print(".", end="", flush=True)
    print()
    mirror.stdin.close()
    for (name, gap_ms), rows in found.items():
        pace = "paced" if gap_ms else "full speed"
        last = [max(row[:2]) for row in rows]
        yield Row(name, f"halt to the last byte, {pace}", statistics.median(last), "ms", 50,
                  note=f"client {statistics.median(r[0] for r in rows):.1f}, origin "
                       f"{statistics.median(r[1] for r in rows):.1f}, max {max(last):.1f}, returns after "
                       f"{statistics.median(r[2] for r in rows):.1f}")
    yield from halt_inspected(lab, Row)


def halt_inspected(lab, Row):
    """The same of requests on kept connections of terminated TLS, as the client saw it."""
    origin = web.Web(lab)
    nej, times = web.NejWeb(origin, "nej-tls", web.TLS_PORT).start(), []
    for _ in range(max(3, lab.options.rounds)):
        client = ask_in(nej, [lab.load, "keep", f"dial={nej.dial}", f"name={NAME}", f"ca={nej.ca}", "conc=200", "secs=3"])
        time.sleep(2)
        begin, _, _ = timed([lab.options.nej, "halt", nej.sandbox])
        result = json.loads(client.communicate()[0])
        timed([lab.options.nej, "resume", nej.sandbox])
        times.append((result["last_ns"] / 1e9 - begin) * 1000)
        if result["errors"] < 200:
            raise BenchError(f"inspected connections are open after the halt: {result}")
    yield Row("nej-tls", "halt to the last answer, 200 kept", statistics.median(times), "ms", 50, note=spread(times))


# --- memory

def suite_live_idle(lab, Rounds, Row):
    """PSS of supervisor and worker together, by run and by attach: idle, and idle again after 100
    connections came and went, and after ten reloads."""
    if not lab.options.nej:
        return
    for nej in (Nej(lab, "nej-run", POLICY), Attached(lab, "nej-attach")):
        nej.start()
        if nej.name == "nej-attach":
            nej.dial = f"{resolve_in(nej)}:443"
        time.sleep(1.5)
        yield Row(nej.name, "PSS, started", nej.pss_kib() / 1024, "MiB", 8)
        nej.tunnel("tun", count=100, conc=4)
        time.sleep(1.5)
        yield Row(nej.name, "PSS, after 100 connections", nej.pss_kib() / 1024, "MiB", 8, note=describe_fds(nej))
        for _ in range(10):
            timed([lab.options.nej, "reload", nej.sandbox])
        time.sleep(1.5)
        yield Row(nej.name, "PSS, after 10 reloads", nej.pss_kib() / 1024, "MiB", 8)
        nej.stop()


def count_fds(nej):
    return {pid: len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
            for pid in (nej.group / "cgroup.procs").read_text().split()}


def describe_fds(nej):
    return f"{sum(count_fds(nej).values())} descriptors"


def resolve_in(nej):
    out = subprocess.run([str(a) for a in nej.client([nej.lab.load, "resolve", "server=9.9.9.9:53", f"name={NAME}"])[0]],
                         preexec_fn=nej.client([])[1], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not out:
        raise BenchError(f"{nej.name}: {NAME} has no address inside")
    return out


# --- many

MANY = (1, 10, 50, 100, 200)


def available_kib():
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])


def connect_ns(nej):
    return nej.lab.run_load(nej, "connect", count=3000, dial=nej.dial)["p50"] * 1000


def suite_many(lab, Rounds, Row):
    """200 sandboxes at once: the attach of the n-th, connect() in the first and the n-th, what each
    takes; halt, resume and status of all."""
    if not lab.options.nej:
        return
    boxes, before, first = [], available_kib(), {}
    for count in MANY:
        times = []
        while len(boxes) < count:
            box = Attached(lab, f"many-{len(boxes)}")
            begin, end = box.start()
            times.append((end - begin) * 1000)
            boxes.append(box)
        boxes[0].dial = boxes[0].dial if len(boxes) > 1 else f"{resolve_in(boxes[0])}:443"
        boxes[-1].dial = f"{resolve_in(boxes[-1])}:443"
        costs = [statistics.median(connect_ns(box) for _ in range(3)) for box in (boxes[0], boxes[-1])]
        time.sleep(1.5)
        pss = statistics.mean(box.pss_kib() for box in boxes) / 1024
        figures = {"attach": statistics.median(times[-10:]), "connect() in the first": costs[0],
                   "connect() in the last": costs[1]}
        first = first or figures
        for what, value in figures.items():
            yield Row(f"of {count}", what, value, "ms" if what == "attach" else "ns",
                      note=f"{value / first[what]:.2f} of that with one")
        yield Row(f"of {count}", "PSS each", pss, "MiB", 8,
                  note=f"{(before - available_kib()) / count / 1024:.1f} MiB of the machine's, {describe_fds(boxes[-1])}")
    yield from all_at_once(lab, Row, len(boxes))
    for box in boxes:
        box.stop()


def all_at_once(lab, Row, count):
    for argv in (["halt", "--all"], ["resume", "--all"], ["status"], ["status", "--json"], ["status", "--metrics"]):
        begin, end, out = timed([lab.options.nej, *argv])
        yield Row(f"of {count}", f"nej {' '.join(argv)}", (end - begin) * 1000, "ms",
                  note=f"{len(out.splitlines())} lines")


# --- reload

RELOADED = f"""version: 1
rules:
  - allow: https://.bench.test:{web.TLS_PORT}
    inspect: true
  - allow: https://.bench.test:{web.H2_PORT}
    inspect: true
  - allow: .bench.test
"""


class Reloader(threading.Thread):
    """Every 100 ms another one of two policies, both of which allow what is asked."""

    def __init__(self, lab, nej, files):
        super().__init__(daemon=True)
        self.lab, self.nej, self.files, self.times, self.is_over = lab, nej, files, [], False
        self.error = None

    def run(self):
        number = 0
        while not self.is_over:
            try:
                begin, end, _ = timed([self.lab.options.nej, "reload", self.nej.sandbox, "-p", self.files[number % 2]])
            except BenchError as error:
                self.error = error
                return
            number += 1
            self.times.append((end - begin) * 1000)
            time.sleep(max(0, 0.1 - (end - begin)))


def start_loads(nej, origin, secs):
    """By name: the processes that ask, all at once, and through the same worker."""
    lab, ip = nej.lab, nej.dial.rsplit(":", 1)[0]
    tls = [f"name={NAME}", f"ca={nej.ca}", f"secs={secs}", "conc=4"]
    loads = {"HTTP/1.1 in TLS, kept": [lab.load, "keep", f"dial={ip}:{web.TLS_PORT}", *tls],
             "HTTP/1.1 in TLS, new": [lab.load, "new", f"dial={ip}:{web.TLS_PORT}", *tls],
             "tunnels, new": [build_load(lab.options.build), "tun", f"dial={ip}:443", f"name={NAME}", "conc=4",
                              f"secs={secs}"],
             "tunnels, kept": [build_load(lab.options.build), "keep", f"dial={ip}:443", f"name={NAME}", "conc=4",
                               f"secs={secs}"]}
    if origin.has_h2:
        loads["HTTP/2 in TLS, kept"] = [lab.load, "h2", f"dial={ip}:{web.H2_PORT}", *tls]
    return {name: ask_in(nej, argv) for name, argv in loads.items()}


def suite_reload(lab, Rounds, Row):
    """Requests and tunnels, new and kept, while the policy is replaced every 100 ms: none may fail. The
    time of one reload with 10 and with 100,000 hosts."""
    if not lab.options.nej:
        return
    origin, secs = web.Web(lab), max(4, int(lab.options.secs * 12))
    nej = web.NejWeb(origin, "nej", web.TLS_PORT)
    nej.policy = RELOADED
    nej.start()
    files = [lab.dir / "reload-1.yaml", lab.dir / "reload-2.yaml"]
    for number, file in enumerate(files):
        file.write_text(RELOADED + f"  - allow: other-{number}.test\n")
    results = {}
    for is_reloading in (False, True):
        reloader = Reloader(lab, nej, files)
        loads = start_loads(nej, origin, secs)
        if is_reloading:
            reloader.start()
        found = {name: json.loads(load.communicate()[0]) for name, load in loads.items()}
        reloader.is_over = True
        if reloader.ident:
            reloader.join()
        if reloader.error:
            raise reloader.error
        results[is_reloading] = found
    for name, under in results[True].items():
        quiet = results[False][name]
        yield Row(name, "failed under reloads", under["errors"], "", 0, note=f"of {under['ops'] + under['errors']:,}")
        yield Row(name, "p99 under reloads", under["p99"] / 1000, "ms", note=f"without {quiet['p99'] / 1000:.2f}")
    yield Row("nej", "reload under load", statistics.median(reloader.times), "ms", note=spread(reloader.times))
    yield from reload_sizes(lab, Row)


def reload_sizes(lab, Row):
    """Of an idle sandbox, by the number of hosts on its list."""
    lab.load = build_load(lab.options.build)
    for size in (10, 100000):
        hosts = lab.dir / f"hosts-{size}"
        hosts.write_text("bench.test\n" + "".join(f"h{n}.of-{n % 977}.test\n" for n in range(size - 1)))
        nej = Nej(lab, f"nej-{size}", f"version: 1\nrules:\n  - allow: {{list: {hosts}}}\n").start()
        times = []
        for _ in range(max(5, 2 * lab.options.rounds)):
            begin, end, _ = timed([lab.options.nej, "reload", nej.sandbox])
            times.append((end - begin) * 1000)
        yield Row("nej", f"reload, {size:,} hosts", statistics.median(times), "ms", note=spread(times))
        nej.stop()
