#!/usr/bin/env python3
"""Checks the losses of recordings: each kind of the registry (core/model/losses.h) is counted somewhere, and nothing
outside the registry writes the name or the severity of a loss.

usage: losses.py ROOT        exit 1 and one line per offence
       losses.py --self-test
"""
import pathlib
import re
import sys
import tempfile

REGISTRY = "core/model/losses.h"
COUNTERS = ("app/record", "core/trace", "core/session", "core/store", "core/exchange/import")
KIND = re.compile(r"^\s*\{RecordLoss::(\w+),\s*\"(\w+)\"", re.M)
USE = re.compile(r"RecordLoss::(\w+)")


def offences(root):
    names = dict(KIND.findall((root / REGISTRY).read_text(encoding="utf-8")))
    found = [] if names else [f"{REGISTRY}: no losses were found"]
    literal = re.compile(r"\"(?:" + "|".join(sorted(set(names.values()))) + r")\"|\bLossSeverity::\w+")
    used = set()
    for top in COUNTERS:
        for path in sorted((root / top).rglob("*.cpp")):
            text = path.read_text(encoding="utf-8")
            used |= set(USE.findall(text))
            for match in literal.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(root)}:{line}: {match[0]}; use RecordLoss and infoOf()")
    return found + [f"{REGISTRY}: nothing counts RecordLoss::{kind}" for kind in names if kind not in used]


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in {
            REGISTRY: '    {RecordLoss::A, "a_lost"},\n    {RecordLoss::B, "b_lost"},\n',
            "core/trace/t.cpp": 'losses.add(RecordLoss::A);\nlosses.add("b_lost", 1);\n',
            "core/store/s.cpp": "LossSeverity::Error\n",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = offences(root)
    expected = ['core/trace/t.cpp:2: "b_lost"', "core/store/s.cpp:1: LossSeverity::Error",
                f"{REGISTRY}: nothing counts RecordLoss::B"]
    ok = len(found) == len(expected) and all(any(f.startswith(e) for f in found) for e in expected)
    print("\n".join(found) if not ok else "ok")
    return 0 if ok else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = offences(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
