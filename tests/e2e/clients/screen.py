#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""screen.py COLUMNSxROWS CMD...: runs a full-screen program on a pseudo-terminal and does what standard
input says, a word a line:
  see REGEX, gone REGEX   what is on the screen, within ten seconds (. matches line ends)
  press TEXT              keys; <enter> <esc> <tab> <up> <down> <home> <end> <bs> <paste> by name
  size COLUMNSxROWS       the terminal is another size
  signal NAME             to the program; TSTP: it gives the terminal back, and stops
  run COMMAND             something else meanwhile, which must succeed
  ends STATUS             it ends, and leaves the terminal as it was
Fails at the first that is not so, and at any byte that no frame should have."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

KEYS = {"enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B",
        "home": "\x1b[H", "end": "\x1b[F", "bs": "\x7f", "interrupt": "\x03", "paste": "\x1b[200~g\r\ry\x1b[201~"}
SEQUENCE = re.compile(rb"\x1b\[(\?1049|\?25|\?2004|[0-9;]*)([HKJmhl])")


class Screen:
    def __init__(self, size, argv):
        self.columns, self.rows = size
        self.cells, self.at, self.is_other = {}, (0, 0), False
        self.left = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            time.sleep(0.1)
            os.environ["TERM"] = "xterm"
            os.execvp(argv[0], argv)
        self.resize(size)
        self.mode = termios.tcgetattr(self.fd)

    def resize(self, size):
        self.columns, self.rows = size
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def text(self):
        return "\n".join("".join(self.cells.get((row, column), " ") for column in range(self.columns)).rstrip()
                         for row in range(self.rows))

    def control(self, which, final):
        row, column = self.at
        if final == b"H":
            self.at = (0, 0)
        elif final == b"K":
            self.cells = {k: v for k, v in self.cells.items() if k[0] != row or k[1] < column}
        elif final == b"J":
            self.cells = {} if which == b"2" else {
                k: v for k, v in self.cells.items() if k < (row, column)}
        elif final in b"hl" and which == b"?1049":
            self.is_other = final == b"h"

    def take(self, data):
        data, at = self.left + data, 0
        while at < len(data):
            found = SEQUENCE.match(data, at)
            if found:
                self.control(*found.groups())
                at = found.end()
            elif data[at] == 0x1b:
                if len(data) - at > 12:
                    sys.exit(f"unexpected bytes: {data[at:at + 20]!r}")
                break
            else:
                self.put(data[at])
                at += 1
        self.left = data[at:]

    def put(self, byte):
        row, column = self.at
        if byte == 13:
            self.at = (row, 0)
        elif byte == 10:
            self.at = (row + 1, column)
        elif 32 <= byte < 127:
            if self.is_other and (column >= self.columns or row >= self.rows):
                sys.exit(f"written outside the screen, at {self.at}")
            self.cells[self.at] = chr(byte)
            self.at = (row, column + 1)
        else:
            sys.exit(f"unexpected byte {byte:#x}")

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.take(data)
        return bool(data)

    def until(self, is_so, what):
        end = time.monotonic() + 10
        while not is_so():
            if time.monotonic() > end:
                sys.exit(f"{what}, but the screen is\n{self.text()}")
            self.read(0.1)

    def is_stopped(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            return not self.is_other and file.read().rsplit(")", 1)[1].split()[0] == "T"

    def ends(self, status):
        end = time.monotonic() + 5
        while self.read(0.1) and time.monotonic() < end:
            pass
        pid, got = 0, 0
        while not pid and time.monotonic() < end:
            pid, got = os.waitpid(self.pid, os.WNOHANG)
        if not pid or os.waitstatus_to_exitcode(got) != status:
            sys.exit(f"it ended with {got}, not {status}")
        if self.is_other:
            sys.exit("the terminal is left on the other page")


def size_of(text):
    return tuple(int(n) for n in text.split("x"))


def act(screen, word, rest):
    if word == "see":
        screen.until(lambda: re.search(rest, screen.text(), re.S), f"no {rest!r}")
    elif word == "gone":
        screen.until(lambda: not re.search(rest, screen.text(), re.S), f"still {rest!r}")
    elif word == "press":
        time.sleep(0.2)
        os.write(screen.fd, re.sub(r"<(\w+)>", lambda m: KEYS[m.group(1)], rest).encode())
    elif word == "size":
        screen.resize(size_of(rest))
    elif word == "signal":
        os.kill(screen.pid, getattr(signal, "SIG" + rest))
        if rest == "TSTP":
            screen.until(screen.is_stopped, "it does not stop")
    elif word == "run":
        screen.read(0.1)
        subprocess.run(["bash", "-c", rest], check=True)
    elif word == "ends":
        screen.ends(int(rest))
    elif word:
        sys.exit(f"no word: {word}")


def main():
    screen = Screen(size_of(sys.argv[1]), sys.argv[2:])
    for line in sys.stdin:
        act(screen, *(line.strip().split(" ", 1) + [""])[:2])
    print("ok")


if __name__ == "__main__":
    main()
