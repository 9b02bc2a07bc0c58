# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory of the harness: a network of its own with the origin in it, the contenders, and
running the load generator against them. What is measured stands in suites.py; read that next."""
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ORIGIN = "93.184.216.34"    # an ordinary global address: nej refuses loopback and its host's own
ORIGIN_NET = "93.184.216.0/24"
ELSEWHERE = "45.33.32.156"  # nobody answers there; denied names are dialled at it
RESOLVER = "127.0.0.53:53"  # of the laboratory's host
ASKED = "9.9.9.9:53"        # the resolver that sandboxed programs ask
NAME, DENIED = "fake.bench.test", "denied.nowhere.test"
PROXY_PORT, STUB_PORT = 3128, 4053


class BenchError(Exception):
    pass


def cgroup_root():
    for line in open("/proc/mounts"):
        fields = line.split()
        if fields[2] == "cgroup2":
            return pathlib.Path(fields[1])
    raise BenchError("no cgroup2 hierarchy is mounted")


def build_load(build):
    """The load generator, made anew when a source is newer."""
    target = build / "bench" / "load"
    sources = [HERE / f"{part}.c" for part in ("load", "hello", "client", "calls", "query", "origin", "pour", "relay")]
    newest = max(p.stat().st_mtime for p in [*sources, HERE / "load.h"])
    if not target.exists() or target.stat().st_mtime < newest:
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-pthread",
                        "-o", target, *sources], check=True)
    return target


def build_decide(build):
    """The decision benchmark, from nej's own objects; None when these are not built."""
    target, source = build / "bench" / "decide", HERE / "decide" / "decide.c"
    objects = [o for part in ("user/base", "user/wire", "user/policy", "llhttp")
               for o in sorted((build / "obj" / part).glob("*.o"))]
    if not any("policy" in str(o) for o in objects):
        return None
    flags = subprocess.run(["pkg-config", "--libs", "libfyaml", "libpsl", "libidn2", "libcrypto", "libllhttp"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if flags.returncode:  # llhttp came as source
        flags = subprocess.run(["pkg-config", "--libs", "libfyaml", "libpsl", "libidn2", "libcrypto"],
                               stdout=subprocess.PIPE, text=True, check=True)
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", "-o", target, source, *objects,
                    *flags.stdout.split()], check=True)
    return target


class Lab:
    """A context: the namespace this process is in becomes the host of all contenders."""

    def __init__(self, options):
        self.options = options
        self.load = build_load(options.build)
        self.rng = __import__("random").Random(time.time_ns())
        self.cgroup = cgroup_root() / f"nej-bench-{os.getpid()}"
        # Not below /tmp: nej trusts no policy in a folder that others can write.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nej-bench.", dir="/var/cache"))
        self.dir.chmod(0o755)
        self.all_cpus = os.sched_getaffinity(0)
        self.pin_cpu = max(self.all_cpus)
        self.next_port = 20000
        self.contenders = []
        self.origin = None

    def __enter__(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.cgroup.mkdir()
        run = lambda *argv: subprocess.run(argv, check=True)
        # Sandboxes of others are none of `halt --all`, nor ours theirs.
        os.makedirs("/run/nej", mode=0o700, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", "mode=0700", "nej", "/run/nej")
        run("ip", "link", "set", "lo", "up")
        # Addresses by route only: they are the origin's, no interface of this host has them.
        run("ip", "route", "replace", "local", ORIGIN_NET, "dev", "lo")
        run("ip", "addr", "replace", "172.30.0.2/32", "dev", "lo")
        for key, value in (("ip_local_port_range", "30000 65535"), ("tcp_tw_reuse", "1")):
            pathlib.Path(f"/proc/sys/net/ipv4/{key}").write_text(value)
        self.origin = self.spawn("origin", [self.load, "origin", f"tls={ORIGIN}:443", f"http={ORIGIN}:80",
                                            f"dns={RESOLVER}", f"answer={ORIGIN}:0"])
        wait_port(ORIGIN, 443)
        return self

    def __exit__(self, *_):
        for contender in list(self.contenders):
            contender.stop()
        for group in sorted(self.cgroup.glob("*/")):
            end_group(group)
        end_group(self.cgroup)
        shutil.rmtree(self.dir, ignore_errors=True)

    def port(self):
        self.next_port += 1
        return self.next_port

    def spawn(self, group, argv, **more):
        """A process in a cgroup of its own, so that its CPU can be read."""
        path = self.cgroup / group
        path.mkdir(exist_ok=True)
        log = open(self.dir / f"{group}.log", "ab")
        return subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                start_new_session=True, preexec_fn=lambda: enter(path), **more)

    def favour(self):
        """Precedence over whatever else runs: sessions share the CPUs by their autogroup's nice
        value, so each of the laboratory's gets the best one; all contenders alike."""
        pids = [str(os.getpid())]
        for group in self.cgroup.glob("*/"):
            pids += (group / "cgroup.procs").read_text().split()
        for pid in pids:
            try:
                pathlib.Path(f"/proc/{pid}/autogroup").write_text("-20")
            except OSError:
                pass  # no such kernel feature, or just gone

    def pin(self, group, cpus):
        for tid in (group / "cgroup.threads").read_text().split():
            try:
                os.sched_setaffinity(int(tid), cpus)
            except OSError:
                pass

    def run_load(self, contender, mode, pinned=False, timeout=120, **args):
        """One run of the load generator against a contender: its result and the contender's CPU."""
        argv, prepare = contender.client([self.load, mode, *(f"{k}={v}" for k, v in args.items())])
        groups = [self.cgroup / "origin", *([contender.group] if contender.group else [])]
        self.favour()

        def before():
            prepare()
            if pinned:
                os.sched_setaffinity(0, {self.pin_cpu})
        for group in groups if pinned else ():
            self.pin(group, {self.pin_cpu})
        begin = contender.cpu_us()
        done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=timeout, preexec_fn=before)
        if pinned:
            for group in groups:
                self.pin(group, self.all_cpus)
        if done.returncode:
            raise BenchError(f"{contender.name} {mode}: {done.stderr.decode().strip()}")
        result = json.loads(done.stdout)
        result["cpu_us"] = contender.cpu_us() - begin
        result["cpu_per_op"] = result["cpu_us"] / max(1, result["ops"])
        return result


def enter(group):
    with open(group / "cgroup.procs", "w") as procs:
        procs.write("0")


def end_group(group):
    """Ends what is left in a cgroup of ours and removes it."""
    for _ in range(200):
        try:
            pids = (group / "cgroup.procs").read_text().split()
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)
            if not pids:
                group.rmdir()
                return
        except ProcessLookupError:
            pass
        except FileNotFoundError:
            return
        except OSError:
            pass
        time.sleep(0.01)


def wait_port(host, port, limit=10, process=None):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        with socket.socket() as s:
            s.settimeout(0.5)
            if s.connect_ex((host, port)) == 0:
                return
        if process and process.poll() is not None:
            break
        time.sleep(0.005)
    raise BenchError(f"nothing listens on {host}:{port}")


class Contender:
    """Something tunnels go through: where clients dial, and whose CPU counts."""
    name, via, group, job = "direct", "direct", None, "tunnel"
    dial = f"{ORIGIN}:443"

    def __init__(self, lab):
        self.lab, self.process = lab, None

    def client(self, argv):
        return argv, lambda: None

    def cpu_us(self):
        if not self.group:
            return 0
        return int((self.group / "cpu.stat").read_text().split()[1])

    def pss_kib(self):
        total = 0
        for pid in (self.group / "cgroup.procs").read_text().split():
            for line in open(f"/proc/{pid}/smaps_rollup"):
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        return total

    def image_kib(self):
        """The compiled policy: pages of the memfd that supervisor and worker share."""
        for pid in (self.group / "cgroup.procs").read_text().split():
            for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                if "memfd:" in os.readlink(fd) and "policy" in os.readlink(fd):
                    return os.stat(fd).st_blocks / 2
        return 0

    def launch(self, argv, port=None, **more):
        self.group = self.lab.cgroup / self.name
        self.process = self.lab.spawn(self.name, argv, **more)
        self.lab.contenders.append(self)
        if port:
            wait_port("127.0.0.1", port, process=self.process)
            self.dial = f"127.0.0.1:{port}"

    def start(self):
        return self

    def stop(self):
        if self not in self.lab.contenders:
            return
        self.lab.contenders.remove(self)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        end_group(self.group)

    def tunnel(self, mode, **args):
        """The load generator's tunnel modes, the way this contender is dialled."""
        args = {"dial": self.dial, "via": self.via, "name": NAME, **args}
        return self.lab.run_load(self, mode, **args)

    def deny(self, **args):
        return self.tunnel("tun", name=DENIED, deny=1, **args)


class Relay(Contender):
    name = "relay-lean"

    def start(self):
        port = self.lab.port()
        self.launch([self.lab.load, "relay", f"listen=127.0.0.1:{port}", f"to={ORIGIN}:443"], port)
        return self


class Echo(Contender):
    job = "dns"

    def __init__(self, lab, batch):
        super().__init__(lab)
        self.name, self.batch = "udp-echo-batch" if batch else "udp-echo", batch

    def start(self):
        port = self.lab.port()
        self.launch([self.lab.load, "echo", f"listen=127.0.0.1:{port}", f"batch={int(self.batch)}"])
        self.dial = f"127.0.0.1:{port}"
        time.sleep(0.1)
        return self


class Nginx(Contender):
    name = "nginx"

    @staticmethod
    def is_here():
        return shutil.which("nginx", path=SBIN) and pathlib.Path(NGINX_STREAM).exists()

    def start(self):
        port, base = self.lab.port(), self.lab.dir / "nginx"
        base.mkdir(exist_ok=True)
        (base / "nginx.conf").write_text(f"""load_module {NGINX_STREAM};
worker_processes 2; daemon off; pid {base}/pid; error_log {base}/error crit;
events {{ worker_connections 9000; }}
stream {{
  map $ssl_preread_server_name $to {{ hostnames; default ""; .bench.test {ORIGIN}:443; }}
  server {{ listen 127.0.0.1:{port} backlog=4096; ssl_preread on; proxy_pass $to; tcp_nodelay on;
            proxy_timeout 600s; }}
}}
""")
        self.launch([shutil.which("nginx", path=SBIN), "-p", base, "-c", base / "nginx.conf",
                     "-e", base / "error"], port)
        return self


class Haproxy(Contender):
    name = "haproxy"

    @staticmethod
    def is_here():
        return shutil.which("haproxy", path=SBIN)

    def start(self):
        port, config = self.lab.port(), self.lab.dir / "haproxy.cfg"
        splice = "option splice-request\n  option splice-response\n" if self.name.endswith("splice") else ""
        config.write_text(f"""global
  nbthread 2
  maxconn 7000
defaults
  mode tcp
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  {splice}
frontend f
  bind 127.0.0.1:{port}
  tcp-request inspect-delay 5s
  tcp-request content accept if {{ req.ssl_hello_type 1 }} {{ req.ssl_sni -i -m end .bench.test }}
  tcp-request content reject if {{ req.ssl_hello_type 1 }}
  default_backend origin
backend origin
  server origin {ORIGIN}:443
""")
        self.launch([shutil.which("haproxy", path=SBIN), "-db", "-f", config], port)
        return self


class HaproxySplice(Haproxy):
    name = "haproxy-splice"


SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
NGINX_STREAM = "/usr/lib/nginx/modules/ngx_stream_module.so"


class Nej(Contender):
    """A sandbox that sleeps; clients join its cgroup and its network namespace, as if they were
    processes of it. The CPU that counts is that of the supervisor and the worker."""
    name = "nej"

    def __init__(self, lab, name="nej", policy=None, options=()):
        super().__init__(lab)
        self.name, self.options = name, list(options)
        self.policy = policy or "version: 1\nrules:\n  - allow: [.bench.test]\n"
        self.sandbox = f"bench-{os.getpid()}-{name}"
        self.pid = None
        self.started_s = None

    def start(self):
        file = self.lab.dir / f"{self.name}.yaml"
        file.write_text(self.policy)
        begin = time.monotonic()
        self.launch([self.lab.options.nej, "run", "-p", file, "-n", self.sandbox, *self.options,
                     "--audit", self.lab.dir / f"{self.name}.jsonl", "--resolver", RESOLVER, "--",
                     "/bin/sh", "-c", "echo up; exec sleep 86400"], cwd="/")
        log = self.lab.dir / f"{self.name}.log"
        while b"up" not in log.read_bytes().split(b"\n"):
            if self.process.poll() is not None or time.monotonic() - begin > 60:
                raise BenchError(f"{self.name} did not start: {log.read_text()[-800:]}")
            time.sleep(0.002)
        self.started_s = time.monotonic() - begin
        self.sandbox_group = find_sandbox(self.sandbox)
        self.pid = (self.sandbox_group / "cgroup.procs").read_text().split()[-1]
        answer = subprocess.run([str(a) for a in self.client([self.lab.load, "resolve", f"server={ASKED}",
                                                              f"name={NAME}"])[0]],
                                preexec_fn=self.client([])[1], stdout=subprocess.PIPE, text=True)
        self.dial = f"{answer.stdout.strip() or ORIGIN}:443"
        return self

    def client(self, argv):
        return (["nsenter", f"--net=/proc/{self.pid}/ns/net", *argv],
                lambda: enter(self.sandbox_group))

    def deny(self, **args):
        return super().deny(dial=f"{ELSEWHERE}:443", **args)


class Outside(Contender):
    """The same sandbox's network namespace, but no process of its cgroup: no BPF program runs."""

    def __init__(self, nej, name, dial):
        super().__init__(nej.lab)
        self.nej, self.name, self.dial, self.group = nej, name, dial, nej.group

    def client(self, argv):
        return self.nej.client(argv)[0], lambda: None


class NejConnect(Contender):
    """The explicit proxy of a running Nej."""
    name, via = "nej-connect", "connect"
    dial = f"127.0.0.1:{PROXY_PORT}"

    def __init__(self, nej):
        super().__init__(nej.lab)
        self.nej, self.group, self.client = nej, nej.group, nej.client


def find_sandbox(name):
    for path in cgroup_root().glob(f"**/{name}"):
        if (path / "cgroup.procs").exists():
            return path
    raise BenchError(f"no cgroup of sandbox {name}")
