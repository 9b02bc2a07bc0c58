#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""look.py TEXT...: looks for texts, given backwards so that our own words do not have them, in what
/proc shows of every process and on our own stack, where a program's environment and words lie. Exit
1 where one is found; else prints how many files were looked at."""
import glob
import sys


def pieces():
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                yield path, file.read()
        except OSError:
            pass
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            if "[stack]" in line:
                begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                memory.seek(begin)
                yield line, memory.read(end - begin)


def main():
    wanted = [text[::-1].encode() for text in sys.argv[1:]]
    found = [where for where, text in pieces() if any(w in text for w in wanted)]
    if found:
        sys.exit(f"found in {found}")
    print("looked at", sum(1 for _ in pieces()))


main()
