#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sockets made, and put out of sight, before nej comes: before.py WAY ADDRESS PORT FOLDER. Makes
FOLDER/WAY.ready, waits for FOLDER/go, then says the canary and prints what came of it."""
import array
import ctypes
import errno
import os
import socket
import sys
import threading
import time

CANARY = os.environ.get("CANARY", "canary").encode()
CLONE_FILES, CLONE_NEWNET = 0x400, 0x40000000
IO_URING_SETUP, IO_URING_REGISTER, REGISTER_FILES = 425, 427, 2
LIBC = ctypes.CDLL(None, use_errno=True)
way, address, port, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
cgroup = os.environ.get("JOIN")  # a cgroup to join once the socket is there


def ready():
    if cgroup:
        with open(f"{cgroup}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))
    open(f"{folder}/{way}.ready", "w").close()
    while not os.path.exists(f"{folder}/go"):
        time.sleep(0.05)


def connected():
    return socket.create_connection((address, port), 3)


def say(sock):
    sock.settimeout(2)
    sock.sendall(CANARY)
    return "heard" if sock.recv(100) else "END"


def give(pair, sock):
    pair.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [sock.fileno()]))])


def take(pair):
    return socket.socket(fileno=socket.recv_fds(pair, 1, 1)[1][0])


def elsewhere():
    """its process has left the network namespace"""
    sock = connected()
    LIBC.unshare(CLONE_NEWNET)
    ready()
    return say(sock)


def elsewhere_unused():
    sock = socket.socket()
    LIBC.unshare(CLONE_NEWNET)
    ready()
    sock.settimeout(2)
    sock.connect((address, port))
    return say(sock)


def beginning():
    """nobody has answered the SYN yet"""
    sock = socket.socket()
    sock.setblocking(False)
    sock.connect_ex((address, port))
    ready()
    time.sleep(4)
    return say(sock)


def listening():
    """a client waits to be accepted"""
    sock = socket.create_server((address, port))
    ready()
    sock.settimeout(2)
    return say(sock.accept()[0])


def passing():
    """to another process, afterwards"""
    ours, theirs = socket.socketpair()
    sock = connected()
    if not os.fork():
        print(say(take(theirs)))
        os._exit(0)
    ready()
    give(ours, sock)
    os.wait()
    return "gave"


def queued():
    """nobody has received it yet"""
    ours, theirs = socket.socketpair()
    with connected() as sock:
        give(ours, sock)
    ready()
    return say(take(theirs))


def thread():
    """a thread with descriptors of its own"""
    sock, is_apart, result = connected(), threading.Event(), []

    def keep():
        LIBC.unshare(CLONE_FILES)
        is_apart.set()
        ready()
        result.append(say(sock))
    other = threading.Thread(target=keep)
    other.start()
    is_apart.wait()
    os.close(sock.fileno())
    other.join()
    return result[0] if result else "nothing"


def ring():
    """registered with io_uring, and closed"""
    sock, params = connected(), ctypes.create_string_buffer(120)
    fd = LIBC.syscall(IO_URING_SETUP, 4, params)
    if fd < 0 or LIBC.syscall(IO_URING_REGISTER, fd, REGISTER_FILES,
                              ctypes.byref(ctypes.c_int(sock.fileno())), 1) < 0:
        return "no io_uring"
    sock.close()
    ready()
    return "kept"


try:
    print({act.__name__: act for act in (elsewhere, elsewhere_unused, beginning, listening, passing,
                                         queued, thread, ring)}[way.replace("-", "_")](), flush=True)
except TimeoutError:
    print("TIMEOUT")
except OSError as error:
    print(errno.errorcode.get(error.errno, str(error)))
