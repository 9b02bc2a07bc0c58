#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""cri.py SOCKET VERB ...: a kubelet for one pod, as the Container Runtime Interface (v1, api.proto of
k8s.io/cri-api) says it. Verbs:
  pod HANDLER NAME UID CGROUP [KEY=VALUE...]    prints the pod's id; KEY=VALUE are its annotations
  container POD NAME IMAGE DROP -- COMMAND...   creates and starts it, prints its id; DROP: a capability
  exec CONTAINER -- COMMAND...                  prints what it prints, its exit status is ours
  end ID                                        stops and removes a container or pod
"""
import pathlib
import sys
import time

import grpc

SERVICE = "/runtime.v1.RuntimeService/"


def field(number, value):
    """One field of a message: text and messages with their length, numbers as varints."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def fields(data):
    """{number: last value} of a message that was received."""
    found, at = {}, 0

    def number():
        nonlocal at
        n, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found[key >> 3] = value
    return found


class Runtime:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(f"unix://{address}")

    def call(self, method, *parts, tries=1):
        for left in reversed(range(tries)):
            try:
                return fields(self.channel.unary_unary(SERVICE + method)(b"".join(parts), timeout=60))
            except grpc.RpcError as error:
                if not left:
                    sys.exit(f"{method}: {error.details()}")
                time.sleep(0.1)


def pod_config(name, uid, cgroup, annotations):
    pairs = b"".join(field(7, field(1, key) + field(2, value))
                     for key, value in (pair.split("=", 1) for pair in annotations))
    return field(1, field(1, name) + field(2, uid) + field(3, "default")) + pairs + field(8, field(1, cgroup))


def start_pod(runtime, handler, *facts):
    """Its configuration is kept beside the socket: it comes with each container's."""
    config = pod_config(*facts[:3], facts[3:])
    pod = runtime.call("RunPodSandbox", field(1, config), field(2, handler))[1].decode()
    pathlib.Path(f"{sys.argv[1]}.{pod}").write_bytes(config)
    return pod


def start_container(runtime, pod, name, image, drop, command):
    # read-only as of kubelets where a pod does not ask for `procMount: Unmasked`
    security = (field(1, field(2, drop)) if drop else b"") + field(14, "/proc/sys")
    config = field(1, field(1, name)) + field(2, field(1, image)) + \
        b"".join(field(3, word) for word in command) + field(15, field(2, security))
    made = runtime.call("CreateContainer", field(1, pod), field(2, config),
                        field(3, pathlib.Path(f"{sys.argv[1]}.{pod}").read_bytes()))[1].decode()
    runtime.call("StartContainer", field(1, made))
    return made


def run_inside(runtime, container, command):
    done = runtime.call("ExecSync", field(1, container), b"".join(field(2, word) for word in command), field(3, 20))
    sys.stdout.buffer.write(done.get(1, b"") + done.get(2, b""))
    sys.exit(done.get(3, 0))


def main():
    address, verb, *words = sys.argv[1:]
    runtime, command = Runtime(address), []
    if "--" in words:
        command, words = words[words.index("--") + 1:], words[:words.index("--")]
    if verb == "pod":
        print(start_pod(runtime, *words))
    elif verb == "container":
        print(start_container(runtime, *words, command))
    elif verb == "exec":
        run_inside(runtime, words[0], command)
    elif verb == "end":
        kind = "PodSandbox" if pathlib.Path(f"{address}.{words[0]}").exists() else "Container"
        runtime.call("Stop" + kind, field(1, words[0]))
        # as a kubelet does: what was killed is "still running" for a moment
        runtime.call("Remove" + kind, field(1, words[0]), tries=100)


main()
