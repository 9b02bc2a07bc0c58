#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""records.py FILE [COUNT] KEY=VALUE...: are there so many JSON records (at least one without COUNT)
with all of these? VALUE ~REGEX searches; `null` is null. Exit 1 and show what there is if not."""
import json
import re
import sys
import time


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def matches(record, conditions):
    for key, wanted in conditions:
        value = record
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if wanted.startswith("~"):
            if not re.search(wanted[1:], text_of(value)):
                return False
        elif text_of(value) != wanted:
            return False
    return True


def read(path):
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[:-1] if line]


def main():
    path, words = sys.argv[1], sys.argv[2:]
    count = int(words.pop(0)) if words and words[0].isdigit() else None
    conditions = [tuple(word.split("=", 1)) for word in words]
    begin = time.monotonic()
    while True:
        records = read(path)
        found = [r for r in records if matches(r, conditions)]
        # A folded record stands for several attempts.
        total = sum(r.get("count", 1) or 1 for r in found)
        if (count is None and found) or (count is not None and total == count):
            if count != 0 or time.monotonic() > begin + 0.2:
                return 0
        elif count == 0 or time.monotonic() > begin + 6:
            break
        time.sleep(0.05)
    wanted = "one" if count is None else str(count)
    print(f"{wanted} wanted, {total} found: {' '.join(words)} in {path}")
    for record in (found or records)[-12:]:
        print("  " + json.dumps(record)[:300])
    return 1


if __name__ == "__main__":
    sys.exit(main())
