#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""bundle.py DIR CGROUP [KEY=VALUE...] -- COMMAND...: an OCI bundle of busybox alone, confined by the
hooks of $NEJ_HOOK (arguments of `nej oci-hook` before the stage). KEY=VALUE are annotations;
`net=PATH` is the network namespace to join instead of one with only lo, `caps=NAME,...` are
capabilities of the container's root, `bind=FROM:TO:OPTION` mounts a folder of the host, `pid=PATH` is
the pid namespace to join (`pid=host`: the host's), `user=N` gives a user namespace whose root is the host's user N, `hook=COMMAND` is a
hook after nej's, `settings=open` leaves /proc/sys writable, `devices=all` opens every device,
`without=KIND` leaves a namespace out."""
import json
import os
import pathlib
import shutil
import sys

FOLDERS = ["bin", "etc", "proc", "sys", "dev", "tmp"]
NAMESPACES = ["pid", "mount", "ipc", "uts", "network"]


def make_root(folder):
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    shutil.copy2("/bin/busybox", folder / "bin/busybox")
    shutil.copy2(os.environ["E2E_SHARED"] + "/bin/fetch-musl", folder / "bin/fetch")
    for name in ("sh", "nc", "sleep", "cat", "id", "ip", "mkdir", "echo", "true"):
        if not (folder / "bin" / name).is_symlink():
            (folder / "bin" / name).symlink_to("busybox")
    (folder / "etc/resolv.conf").write_text("nameserver 8.8.8.8\n")
    (folder / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")


def hook(stage):
    nej = os.environ["NEJ"]
    return [{"path": nej, "args": ["nej", "oci-hook", *os.environ.get("NEJ_HOOK", "").split(), stage]}]


def main():
    folder, cgroup, *words = sys.argv[1:]
    cut = words.index("--")
    facts = dict(word.split("=", 1) for word in words[:cut])
    net, caps, bind = facts.pop("net", None), facts.pop("caps", ""), facts.pop("bind", None)
    pid, user, later = facts.pop("pid", ""), facts.pop("user", ""), facts.pop("hook", "").split()
    without = facts.pop("without", "")
    settings, devices = facts.pop("settings", ""), facts.pop("devices", "")
    namespaces = [{"type": name} for name in NAMESPACES if name != without and not (name == "pid" and pid == "host")]
    if net:
        namespaces[-1]["path"] = net
    if pid and pid != "host":
        namespaces[0]["path"] = pid
    capabilities = [f"CAP_{name}" for name in caps.split(",") if name]
    root = pathlib.Path(folder)
    make_root(root / "rootfs")
    config = {
        "ociVersion": "1.0.2", "hostname": "box", "annotations": facts,
        "root": {"path": "rootfs", "readonly": False},
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": words[cut + 1:],
                    "env": ["PATH=/bin"], "cwd": "/", "noNewPrivileges": True,
                    "capabilities": {kind: capabilities for kind in
                                     ("bounding", "effective", "permitted")}},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                    "options": ["nosuid", "mode=755"]}],
        "linux": {"namespaces": namespaces, "cgroupsPath": cgroup,
                  "readonlyPaths": [] if settings == "open" else ["/proc/sys"],
                  "resources": {"devices": [{"allow": devices == "all", "access": "rwm"}]}},
        "hooks": {"createRuntime": hook("createRuntime"), "poststop": hook("poststop")},
    }
    if later:
        config["hooks"]["createRuntime"].append({"path": later[0], "args": later})
    if user:
        namespaces.append({"type": "user"})
        for kind in ("uidMappings", "gidMappings"):
            config["linux"][kind] = [{"containerID": 0, "hostID": int(user), "size": 65536}]
    if bind:
        source, target, option = bind.split(":")
        config["mounts"].append({"destination": target, "type": "bind", "source": source,
                                 "options": ["rbind", option]})
    (root / "config.json").write_text(json.dumps(config, indent=1))


if __name__ == "__main__":
    main()
