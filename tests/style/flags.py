#!/usr/bin/env python3
"""Checks the flags of runs: each flag of the registry (core/model/flags.h) is set somewhere and explained in the help,
and none is set by its text.

usage: flags.py ROOT        exit 1 and one line per offence
       flags.py --self-test
"""
import pathlib
import re
import sys
import tempfile

SETTERS = ("core/analysis", "core/engine", "core/session", "core/exchange/import")
KIND = re.compile(r"^\s*\{FlagKind::(\w+),\s*\"([a-z-]+)\"", re.M)
HELP = "resources/help/analysis.md"
USE = re.compile(r"FlagKind::(\w+)")
TEXT = re.compile(r"\b\w*flags_?\.(?:push_back|emplace_back)\(\s*(?:c10::str\(\s*)?\"")


def offences(root):
    registry = (root / "core/model/flags.h").read_text(encoding="utf-8")
    names = dict(KIND.findall(registry))
    found = [] if names else ["core/model/flags.h: no flags were found"]
    used = set()
    for top in SETTERS:
        for path in sorted((root / top).rglob("*.cpp")):
            text = path.read_text(encoding="utf-8")
            used |= set(USE.findall(text))
            for match in TEXT.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(root)}:{line}: sets a flag by its text; use flagText(FlagKind::…)")
    found += [f"core/model/flags.h: nothing sets FlagKind::{kind}" for kind in names if kind not in used]
    explained = (root / HELP).read_text(encoding="utf-8")
    found += [f"{HELP}: has no row for the flag {name}" for name in names.values() if f"| {name} |" not in explained]
    return found


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in {
            "core/model/flags.h": '    {FlagKind::A, "a"},\n    {FlagKind::B, "b"},\n',
            HELP: "| a | always |\n",
            "core/engine/e.cpp": 'result.flags.push_back(flagText(FlagKind::A));\nresult_.flags.push_back("b: 1");\n',
            "core/session/s.cpp": "",
            "core/analysis/s.cpp": "",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = offences(root)
    expected = ["core/engine/e.cpp:2: sets a flag", "core/model/flags.h: nothing sets FlagKind::B",
                f"{HELP}: has no row for the flag b"]
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
