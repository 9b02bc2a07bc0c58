#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Job control on a pseudo-terminal: an outer shell runs nej, the test types and reads. Arguments: the
command that runs something in a sandbox. Prints `ok` after the last step; fails at the first that
does not come within five seconds."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

RUN = " ".join(sys.argv[1:])
COUNT = ("import signal, time; n = []; signal.signal(2, lambda *a: n.append(1)); "
         "print('rea' 'dy', flush=True); time.sleep(1); time.sleep(.3); print('got', len(n))")


class Terminal:
    def __init__(self):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ.update(PS1="OUT> ", TERM="xterm")
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts what is in its background without
            os.execvp("bash", ["bash", "--norc", "-i"])
        self.seen = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def comes(self, text, seconds):
        end = time.monotonic() + seconds
        while text.encode() not in self.seen:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                return False
            self.seen += os.read(self.fd, 4096)
        return True

    def expect(self, text):
        if not self.comes(text, 5):
            sys.exit(f"no {text!r} in {self.seen[-500:]!r}")
        self.seen = self.seen[self.seen.index(text.encode()) + len(text):]

    def interrupt(self, text):
        """Until it is answered: bash says that a job goes on before it hands it the terminal."""
        for _ in range(5):
            time.sleep(0.2)
            self.type("\x03")
            if self.comes(text, 1):
                break
        self.expect(text)

    def resize(self, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))


def inner_shell(t):
    t.type(f"PS1='IN> ' {RUN} bash --norc -i\n")
    t.expect("IN> ")
    t.type("sh -c 'echo be\"\"gan; exec sleep 100'\n")
    t.expect("began")
    time.sleep(0.3)
    t.type("\x1a")
    t.expect("Stopped")
    t.expect("IN> ")  # else what is typed next belongs to nobody yet
    t.type("fg\n")
    t.expect("exec sleep 100")
    t.interrupt("IN> ")
    t.type("echo a >/dev/stderr && echo b >/dev/tty && echo wri''tten\n")
    t.expect("written")
    t.type("exit 3\n")
    t.expect("OUT> ")
    t.type("echo status=$?\n")
    t.expect("status=3")


def whole_job(t):
    for resume in ("fg", "bg"):
        t.type(f"{RUN} bash -c 'echo be\"\"gan; sleep 1; echo en\"\"ded'\n")
        t.expect("began")
        t.type("\x1a")
        t.expect("Stopped")
        t.type(f"{resume}\n")
        t.expect("ended")
        t.type("wait; echo all do''ne\n")
        t.expect("all done")


def signals(t):
    t.type(f'{RUN} python3 -c "{COUNT}"\n')
    t.expect("ready")
    t.type("\x03")
    t.expect("got 1")
    t.type(f"{RUN} sh -c 'echo be\"\"gan; sleep 50'\n")
    t.expect("began")
    time.sleep(0.3)  # dash loses a signal that comes while it starts a program
    t.type("\x03")
    t.expect("OUT> ")
    t.type("echo status=$?\n")
    t.expect("status=130")


def full_screen(t):
    t.type(f"{RUN} sh -c 'trap \"stty size\" WINCH; echo be\"\"gan; while :; do sleep .1; done'\n")
    t.expect("began")
    t.resize(41)
    t.expect("41 100")
    t.type("\x03")
    t.expect("OUT> ")
    t.type(f"{RUN} sh -c 'read x; echo got $x' | cat\n")
    time.sleep(0.7)
    t.type("a-line\n")
    t.expect("got a-line")


def main():
    terminal = Terminal()
    for step in (inner_shell, whole_job, signals, full_screen):
        step(terminal)
    terminal.type("exit\n")
    print("ok")


main()
