# SPDX-License-Identifier: GPL-2.0-only
"""What the soak judges by: the audit log as it grows, the figures of the processes, and the sentences of
the verdict. Each fault is a sentence; none at all is what passes. Read soak next."""
import bisect
import collections
import json
import os
import pathlib
import threading
import time


class Follower(threading.Thread):
    """Adds up an audit log's records while it is written, through its rotations."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.is_over = path, False
        self.sums = collections.Counter()  # (event, layer, reason, host) -> attempts
        self.finished, self.n_records, self.odd, self.next_seq = None, 0, [], None
        self.n_packets = 0  # refused in the kernel behind the back of who made the socket

    def take(self, line):
        record = json.loads(line)
        self.n_records += 1
        # a file missed would make every sum meaningless
        seq = record.get("seq")
        if self.next_seq is not None and seq != self.next_seq:
            self.odd.append(f"record {seq} comes after {self.next_seq - 1}")
        self.next_seq = seq + 1
        event = record["event"]
        if event in ("events_lost", "audit_gap", "canary_failed") and len(self.odd) < 20:
            self.odd.append(line.decode()[:300])
        if event == "sandbox_finished":
            self.finished = record
        key = (event, record.get("layer"), record.get("reason"), record.get("host"))
        # names that differ each time would only fill memory
        if event.endswith("blocked") and record.get("layer") != "kernel":
            key = key[:3] + (None,)
        self.sums[key] += record.get("count", 1) or 1
        if event == "network_blocked" and record.get("detail") in ("packet out", "packet in"):
            self.n_packets += record.get("count", 1) or 1

    def run(self):
        while not os.path.exists(self.path):
            if self.is_over:
                return
            time.sleep(0.05)
        file, rest = open(self.path, "rb"), b""
        while True:
            was_over, piece = self.is_over, file.read(1 << 20)
            if piece:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self.take(line)
            elif os.fstat(file.fileno()).st_ino != os.stat(self.path).st_ino:
                piece = file.read()  # what came between the two looks
                for line in (rest + piece).splitlines():
                    self.take(line)
                file, rest = open(self.path, "rb"), b""
            elif was_over:
                return
            else:
                time.sleep(0.2)

    def sum(self, event, layer=None, reason=None, host=None):
        return sum(n for (e, la, r, h), n in self.sums.items() if e == event and layer in (None, la)
                   and reason in (None, r) and host in (None, h))


# --- figures of processes

def children(pid):
    """[(pid, state, command)]"""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                fields = stat.rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append((int(entry.name), fields[0], command))
            except (OSError, ValueError):
                pass
    return found


def worker_of(pid):
    for child, state, command in children(pid):
        if " worker " in command and state != "Z":
            return child
    return None


def memory_kib(pid):
    """(all of it, its own): Pss, and without the pages of files, whose share is the smaller the more other
    programs map them at the time."""
    found = {}
    try:
        for line in open(f"/proc/{pid}/smaps_rollup"):
            key, _, rest = line.partition(":")
            if key.startswith("Pss"):
                found[key] = int(rest.split()[0])
    except OSError:
        return None, None
    return found.get("Pss"), found.get("Pss_Anon", 0) + found.get("Pss_Shmem", 0)


def count_fds(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def growth(points):
    """By least squares over the last 80 % of [(time, value)]: how much from its begin to its end."""
    points = points[len(points) // 5:]
    if len(points) < 5:
        return 0.0
    n = len(points)
    mean_t, mean_v = sum(t for t, _ in points) / n, sum(v for _, v in points) / n
    spread = sum((t - mean_t) ** 2 for t, _ in points)
    slope = sum((t - mean_t) * (v - mean_v) for t, v in points) / spread
    return slope * (points[-1][0] - points[0][0])


def inside(times, windows):
    """How many of the sorted times lie in one of the windows."""
    return sum(bisect.bisect_left(times, end) - bisect.bisect_right(times, begin)
               for begin, end in windows if end > begin)


# --- the verdict

def judge_world(world, boxes):
    faults = [f"the internet saw: {what}, {n} times" for what, n in world["forbidden"].items()]
    if world["packets_not_seen"]:
        faults.append(f"the capture lost {world['packets_not_seen']} packets: it proves nothing")
    for box in boxes:
        for kind in ("plain", "look", "turn", "kern"):
            times = sorted(world["times"][f"{box.number} {kind}"])
            n = inside(times, box.halted)
            if n:
                faults.append(f"{box.name}: {n} packets to {kind} while it was halted")
            if kind == "turn" and (n := inside(times, box.closed)):
                faults.append(f"{box.name}: {n} packets to a host that the policy in force forbids")
    return faults


def is_excused(odd, windows):
    begin, end = odd[0], odd[1]
    return any(begin <= w_end and end >= w_begin for w_begin, w_end in windows)


def strange_ones(box, stalls):
    """What failed though it was allowed: with no halt and no killed worker, for `turn` no reload that
    took it away, for what timed out no time in which this machine ran neither side."""
    for odd in box.result["odd"]:
        if is_excused(odd, box.disturbed) or (odd[2] == "turn" and is_excused(odd, box.taken)):
            continue
        if "timed out" not in odd[3] or not is_excused(odd, stalls):
            yield odd


def judge_load(box, world):
    found, faults = box.result, []
    if not found:
        return [f"{box.name}: the load inside gave no result: {box.tail()}"]
    for _, _, act, what in found["passed"][:5]:
        faults.append(f"{box.name}: a denied attempt passed: {act}: {what}")
    box.strange = list(strange_ones(box, found["stalls"] + world["stalls"]))
    strange = box.strange
    if strange:
        kinds = collections.Counter(f"{o[2]}: {o[3][:100]}" for o in strange)
        faults.append(f"{box.name}: {len(strange)} allowed attempts failed with nothing disturbing them: "
                      f"{dict(kinds.most_common(4))}, first at {strange[0][0]:.3f}")
    if found["stuck"]:
        faults.append(f"{box.name}: {found['stuck']} threads of the load hang")
    asked = found["left_out"] + sum(n for key, n in found["counts"].items() if key.endswith(" tried"))
    if found["left_out"] > asked / 20:
        faults.append(f"{box.name}: {found['left_out']} of {asked} attempts were left out: too slow a machine, or nej")
    return faults


def judge_records(box, world):
    """Kernel counters, records, what the program inside saw and what the internet saw."""
    log, faults, n = box.follower, [], collections.Counter(box.result["counts"] if box.result else {})
    faults += [f"{box.name}: in the log: {text}" for text in log.odd]
    if not log.finished:
        return faults + [f"{box.name}: no sandbox_finished record"]
    kernel, records = log.finished["kernel"], log.finished["records"]
    by_reason = collections.Counter()
    for (event, layer, reason, _), count in log.sums.items():
        if layer == "kernel" and event.endswith("blocked"):
            by_reason[reason] += count
    if not kernel == records == dict(by_reason):
        faults.append(f"{box.name}: kernel counters {kernel}, records {records}, the log itself {dict(by_reason)}")
    same = [("refused calls", n["kernel-calls refused"], sum(kernel.values()) - log.n_packets),
            ("calls let straight out", n["kernel-calls passed"], log.finished["passed"]),
            ("calls let straight out, in the log", n["kernel-calls passed"], log.sum("network_allowed", "kernel"))]
    faults += [f"{box.name}: {what}: {a} seen inside, {b} counted" for what, a, b in same if a != b]
    faults += judge_order(box, world, n)
    if log.finished["events_lost"]:
        faults.append(f"{box.name}: {log.finished['events_lost']} events lost")
    return faults


def judge_order(box, world, n):
    """Whoever was answered is on record, and nothing is on record that nobody tried. A killed worker
    makes both less than equal, never more."""
    log, seen = box.follower, world["counts"]
    plain, look, turn = (f"{kind}.s{box.number}.test" for kind in ("plain", "look", "turn"))
    denied = log.sum("dns_blocked")
    chains = [("denied names", n["dns refused"], denied, n["dns denied"])]
    for what, done, arrived, host in (
            ("requests to plain", n["http-requests ok"] + n["https ok"] + n["connect ok"],
             seen.get(f"http {plain}", 0) + seen.get(f"https {plain}", 0), plain),
            ("requests to look", n["inspected-requests ok"], seen.get(f"https {look}", 0), look),
            ("requests to turn", n["turn ok"], seen.get(f"http {turn}", 0), turn)):
        # each arrived one has a record; tunnels to the echo server have theirs under the same name
        tunnels = seen.get(f"tcp {host}", 0)
        recorded = log.sum("network_allowed", host=host) - log.sum("network_allowed", "kernel", host=host)
        chains.append((what, done, arrived, 1 << 60))
        chains.append((what + " and tunnels, in the log", 0, arrived + tunnels, recorded))
    refused = sum(v for k, v in n.items() if k.split(" ")[0] in (
        "denied_http", "denied_tls", "denied_connect", "denied_secret") and k.split(" ")[1] in ("status", "alert"))
    tried = sum(v for k, v in n.items() if k.endswith(" tried"))
    blocked = log.sum("network_blocked") - log.sum("network_blocked", "kernel") \
        - log.sum("network_blocked", "supervisor")
    chains.append(("refusals by the proxy", refused, blocked, tried))
    return [f"{box.name}: {what}: {low} <= {middle} <= {high} does not hold"
            for what, low, middle, high in chains if not low <= middle <= high]


def judge_figures(box, seconds):
    # until each page of the rings of 1 MiB was written to once, memory grows by them
    faults, rings = [], 0 if seconds >= 600 else 768
    for what, bound in (("supervisor memory", 512 + rings), ("worker memory", 512 + rings),
                        ("supervisor descriptors", 3), ("worker descriptors", 40)):
        grown = growth(box.points[what])
        box.grown[what] = round(grown, 1)
        if grown > bound:
            faults.append(f"{box.name}: {what} grew by {grown:.0f} in {0.8 * seconds:.0f} s, not below {bound}")
    for what, limit in (("supervisor PSS", 12288), ("worker PSS", 16384)):
        most = max((v for _, v in box.points[what]), default=0)
        if most > limit:
            faults.append(f"{box.name}: {what} came to {most} KiB")
    return faults + box.zombies
