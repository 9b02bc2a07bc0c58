# SPDX-License-Identifier: GPL-2.0-only
"""The suites that look inside TLS, and plain HTTP by the explicit proxy: origin, contenders and what
is measured. `direct` is the origin itself; nginx terminates with a certificate made beforehand, nej
makes each host's. Read lab.py first."""
import json
import pathlib
import shutil
import subprocess

import lab as lab_module
from lab import (HERE, NAME, ORIGIN, PROXY_PORT, SBIN, BenchError, Contender, Nej, wait_port)

COLD = "h%lu.cold.bench.test"
HTTP_PORT, TLS_PORT, H2_PORT = 8080, 8443, 9443


def build_web(build):
    target = build / "bench" / "web"
    if not target.exists() or target.stat().st_mtime < (HERE / "web.c").stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-o",
                        target, HERE / "web.c", "-lssl", "-lcrypto", "-lnghttp2"], check=True)
    return target


class Web:
    """The laboratory's web: an authority, the origin's certificate, origins in clear, under TLS and,
    where nginx is, with HTTP/2. Also the client instead of the tunnels' load generator."""

    def __init__(self, lab):
        self.lab, self.dir = lab, lab.dir / "web"
        self.dir.mkdir(exist_ok=True)
        lab.load = build_web(lab.options.build)
        self.ca, self.cert, self.key = (self.dir / f for f in ("ca.pem", "leaf.pem", "leaf.key"))
        self.make_certificates()
        lab.spawn("web-http", [lab.load, "origin", f"listen={ORIGIN}:{HTTP_PORT}"])
        lab.spawn("web-tls", [lab.load, "origin", f"listen={ORIGIN}:{TLS_PORT}", f"cert={self.cert}", f"key={self.key}"])
        for port in (HTTP_PORT, TLS_PORT):
            wait_port(ORIGIN, port)
        self.has_h2 = bool(shutil.which("nginx", path=SBIN))
        if self.has_h2:
            nginx(lab, "web-h2", f"""
  server {{ listen {ORIGIN}:{H2_PORT} ssl http2; ssl_certificate {self.cert}; ssl_certificate_key {self.key};
            keepalive_requests 1000000; location / {{ return 200 "{'x' * 300}"; }} }}""")
            wait_port(ORIGIN, H2_PORT)

    def make_certificates(self):
        ext = self.dir / "ext"
        ext.write_text("subjectAltName=DNS:bench.test,DNS:*.bench.test,DNS:*.cold.bench.test\n")
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for argv in (["req", "-x509", *new_key, "-keyout", self.dir / "ca.key", "-out", self.ca, "-days", "2",
                      "-subj", "/CN=bench authority"],
                     ["req", *new_key, "-keyout", self.key, "-out", self.dir / "csr", "-subj", "/CN=bench.test"],
                     ["x509", "-req", "-in", self.dir / "csr", "-CA", self.ca, "-CAkey", self.dir / "ca.key",
                      "-CAcreateserial", "-days", "2", "-extfile", ext, "-out", self.cert]):
            subprocess.run(["openssl", *argv], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def nginx(lab, group, servers):
    base = lab.dir / group
    base.mkdir(exist_ok=True)
    (base / "nginx.conf").write_text(f"""worker_processes 2; daemon off; pid {base}/pid; error_log {base}/error crit;
events {{ worker_connections 9000; }}
http {{ access_log off; client_body_temp_path {base}/1; proxy_temp_path {base}/2; fastcgi_temp_path {base}/3;
  uwsgi_temp_path {base}/4; scgi_temp_path {base}/5; keepalive_requests 1000000; {servers} }}
""")
    return lab.spawn(group, [shutil.which("nginx", path=SBIN), "-p", base, "-c", base / "nginx.conf", "-e",
                             base / "error"])


class Direct(Contender):
    def __init__(self, web, port):
        super().__init__(web.lab)
        self.web, self.dial, self.ca, self.via = web, f"{ORIGIN}:{port}", web.ca, "direct"
        if port == HTTP_PORT:
            self.ca = None

    def ask(self, mode, **args):
        args = {"dial": self.dial, "name": NAME, "via": self.via, **({"ca": self.ca} if self.ca else {}), **args}
        return self.lab.run_load(self, mode, **args)


class NginxWeb(Direct):
    """Terminates with the origin's certificate, or serves in clear; its origins are pooled."""
    name = "nginx"

    @staticmethod
    def is_here():
        return shutil.which("nginx", path=SBIN)

    def start(self):
        port, is_tls = self.lab.port(), self.ca is not None
        scheme, up = ("https", TLS_PORT) if is_tls else ("http", HTTP_PORT)
        tls = f"ssl_certificate {self.web.cert}; ssl_certificate_key {self.web.key};" if is_tls else ""
        self.group, self.dial = self.lab.cgroup / self.name, f"127.0.0.1:{port}"
        self.process = nginx(self.lab, self.name, f"""
  upstream up {{ server {ORIGIN}:{up}; keepalive 64; keepalive_requests 1000000; }}
  server {{ listen 127.0.0.1:{port} {'ssl' if is_tls else ''} backlog=4096; {tls}
            location / {{ proxy_pass {scheme}://up; proxy_http_version 1.1; proxy_set_header Connection "";
              proxy_set_header Host $host; proxy_ssl_server_name on; proxy_ssl_name {NAME}; proxy_buffering off;
              proxy_ssl_verify on; proxy_ssl_trusted_certificate {self.web.ca}; }} }}""")
        self.lab.contenders.append(self)
        wait_port("127.0.0.1", port, process=self.process)
        return self


class NejWeb(Nej):
    """Looks inside; clients trust the sandbox's authority."""

    def __init__(self, web, name, port):
        super().__init__(web.lab, name, f"""version: 1
rules:
  - allow: {'http' if port == HTTP_PORT else 'https'}://.bench.test:{port}
    inspect: true
""", [f"--ca={web.ca}"])
        self.via, self.port, self.ca = "direct", port, None

    def start(self):
        # its own client asks the resolver: the tunnels' generator does that
        self.lab.load, web = lab_module.build_load(self.lab.options.build), self.lab.load
        super().start()
        self.lab.load = web
        self.dial = f"{self.dial.rsplit(':', 1)[0]}:{self.port}"
        self.ca = pathlib.Path(f"/run/nej/{self.sandbox}/ca.pem") if self.port != HTTP_PORT else None
        return self

    ask = Direct.ask


class NejAbs(NejWeb):
    """Requests in absolute form to the explicit proxy."""

    def start(self):
        super().start()
        self.dial, self.via, self.ca = f"127.0.0.1:{PROXY_PORT}", "abs", None
        return self

    def ask(self, mode, **args):
        return super().ask(mode, **{"name": f"{NAME}:{self.port}", **args})


def contenders(web, port):
    up = [Direct(web, port)]
    if NginxWeb.is_here() and port != H2_PORT:
        up.append(NginxWeb(web, port).start())
    if web.lab.options.nej:
        kind = NejAbs if port == HTTP_PORT else NejWeb
        up.append(kind(web, "nej", port).start())
    for c in up:
        mode = "h2" if port == H2_PORT else "new"
        done = c.ask(mode, count=3, conc=1)
        if done["ops"] != 3:
            raise BenchError(f"{c.name}: an allowed request does not work: {done}")
    return up


# nej's bars in microseconds of CPU, set on a machine on which nginx takes 334, 400 and 28 for the same
BARS = {"handshake": 300, "new": 400, "keep": 30, "h2": 30}


def suite_inspect(lab, Rounds, Row):
    """TLS terminated: handshakes with a known and a new host, connections with a request, requests
    on kept connections; every answer passes through a verified connection to the origin."""
    web = Web(lab)
    up, rounds, secs, cold = contenders(web, TLS_PORT), Rounds(lab), lab.options.secs, [0]

    def measure(c):
        found = {}
        for figure, mode in (("handshake", "hs"), ("new", "new"), ("keep", "keep")):
            r = c.ask(mode, secs=secs)
            found[c.name, figure] = r["cpu_per_op"]
            found[c.name, figure + " rate"] = r["rate"]
            found[c.name, "errors"] = found.get((c.name, "errors"), 0) + r["errors"]
        if c.name == "nej":
            # dialled at the origin's own address, as by a client that resolved elsewhere
            r = c.ask("hs", dial=f"{ORIGIN}:{TLS_PORT}", name=COLD.replace("%lu", f"{cold[0]}-%lu"),
                      count=int(1000 * secs))
            if r["errors"]:
                raise BenchError(f"nej: {r['errors']} handshakes with new hosts failed")
            cold[0] += 1
            found[c.name, "cold"] = r["cpu_per_op"]
        return found
    rounds.run(up, measure)
    for c in up:
        for figure, what in (("handshake", "handshake, known host"), ("new", "connection and request"),
                             ("keep", "request, kept")):
            rate = f"{rounds.median(c.name, figure + ' rate'):,.0f}/s, " \
                   f"{rounds.against(c.name, 'direct', figure + ' rate'):.2f} of direct"
            if c.group:
                yield Row(c.name, f"CPU, {what}", rounds.median(c.name, figure), "us",
                          BARS[figure] if c.name == "nej" else None, note=rate)
            else:
                yield Row(c.name, what, rounds.median(c.name, figure + " rate"), "/s")
    if rounds.has("nej"):
        yield Row("nej", "CPU, handshake, new host", rounds.median("nej", "cold"), "us", BARS["handshake"] + 100)
    if rounds.has("nej") and rounds.has("nginx"):
        for figure, bar in (("handshake", 300 / 334), ("new", 1.0), ("keep", 30 / 28)):
            yield Row("nej", f"CPU, {figure}, of nginx", rounds.against("nej", "nginx", figure), "x", round(bar, 2))


def suite_inspect_h2(lab, Rounds, Row):
    """HTTP/2 on both sides, kept connections; beside HTTP/1.1 over the same."""
    web = Web(lab)
    if not web.has_h2:
        print("  nginx, the origin that speaks HTTP/2, is not installed: left out")
        return
    up, rounds, secs = contenders(web, H2_PORT), Rounds(lab), lab.options.secs

    def measure(c):
        two, one = c.ask("h2", secs=secs), c.ask("keep", secs=secs)
        return {(c.name, "h2"): two["cpu_per_op"], (c.name, "h1"): one["cpu_per_op"], (c.name, "rate"): two["rate"],
                (c.name, "errors"): two["errors"] + one["errors"]}
    rounds.run(up, measure)
    for c in up:
        if c.group:
            yield Row(c.name, "CPU a request, HTTP/2", rounds.median(c.name, "h2"), "us", BARS["h2"],
                      note=f"{rounds.median(c.name, 'rate'):,.0f}/s")
            yield Row(c.name, "CPU a request, HTTP/1.1", rounds.median(c.name, "h1"), "us")
        else:
            yield Row(c.name, "requests, HTTP/2", rounds.median(c.name, "rate"), "/s")


def suite_inspect_bulk(lab, Rounds, Row):
    """One response of a GiB through terminated TLS, and nej's memory meanwhile."""
    web = Web(lab)
    up, rounds, size = contenders(web, TLS_PORT), Rounds(lab), int(lab.options.secs * (1 << 29))

    def measure(c):
        r = c.ask("bulk", conc=1, bytes=size, count=1)
        return {(c.name, "cpu"): r["cpu_us"] / 1e6 / (r["bytes"] / (1 << 30)), (c.name, "rate"): r["mibps"]}
    rounds.run(up, measure)
    for c in up:
        yield Row(c.name, "MiB/s", rounds.median(c.name, "rate"), "MiB/s",
                  note=f"{rounds.against(c.name, 'direct', 'rate'):.2f} of direct")
        if c.group:
            yield Row(c.name, "CPU s/GiB", rounds.median(c.name, "cpu"), "s", 1.25 if c.name == "nej" else None)
            yield Row(c.name, "PSS after", c.pss_kib() / 1024, "MiB")


def suite_inspect_idle(lab, Rounds, Row):
    """Clients that asked once and then say nothing."""
    web, n = Web(lab), 1000
    for c in contenders(web, TLS_PORT)[1:]:
        before = c.pss_kib()
        argv, prepare = c.client([lab.load, "hold", f"dial={c.dial}", f"name={NAME}", f"ca={c.ca}", f"count={n}"])
        held = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                preexec_fn=prepare)
        if json.loads(held.stdout.readline())["ops"] != n:
            raise BenchError(f"{c.name}: not all connections are held")
        yield Row(c.name, "process memory a connection", (c.pss_kib() - before) / n, "KiB",
                  12 if c.name == "nej" else None)
        held.stdin.close()
        held.wait()


def suite_http(lab, Rounds, Row):
    """Plain HTTP by the explicit proxy, in absolute form: connections with a request, kept requests."""
    web = Web(lab)
    up, rounds, secs = contenders(web, HTTP_PORT), Rounds(lab), lab.options.secs

    def measure(c):
        new, keep = c.ask("new", secs=secs), c.ask("keep", secs=secs)
        return {(c.name, "new"): new["cpu_per_op"], (c.name, "keep"): keep["cpu_per_op"],
                (c.name, "new rate"): new["rate"], (c.name, "keep rate"): keep["rate"],
                (c.name, "errors"): new["errors"] + keep["errors"]}
    rounds.run(up, measure)
    for c in up:
        for figure, what, bar in (("new", "connection and request", 50), ("keep", "request, kept", 18)):
            if c.group:
                yield Row(c.name, f"CPU, {what}", rounds.median(c.name, figure), "us", bar if c.name == "nej" else None,
                          note=f"{rounds.against(c.name, 'direct', figure + ' rate'):.2f} of direct")
            else:
                yield Row(c.name, what, rounds.median(c.name, figure + " rate"), "/s")
