#!/usr/bin/env python3
"""Checks that no source file starts programs by a function that may find them in the current folder: PATH can have empty and
relative elements. core/base/search_path.h finds programs; a recorded program is found as a shell would.

usage: programs.py ROOT        exit 1 and one line per offence
       programs.py --self-test
"""
import pathlib
import re
import sys

from batches import IGNORED

FOLDERS = ("core", "app", "ui", "kernels")
CALL = re.compile(r"\b(popen|system|posix_spawnp|exec[lv]pe?)\s*\(")
# The user's own command, which behaves as without Tilescope.
ALLOWED = {("app/cli/recorded_program.cpp", "execvp")}


def offences(text):
    """Line and name of each such call."""
    code = IGNORED.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    for match in CALL.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match[1]


def self_test():
    found = list(offences("""popen(line);
    // execvp(words)
    posix_spawn(&pid, path);
    const char* text = "system(x)";
    return ::execlp (python);
    """))
    assert found == [(1, "popen"), (5, "execlp")], found
    print("programs self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root, failed = pathlib.Path(sys.argv[1]), False
    for top in FOLDERS:
        for file in sorted((root / top).rglob("*.cpp")):
            name = file.relative_to(root).as_posix()
            for line, call in offences(file.read_text(encoding="utf-8")):
                if (name, call) not in ALLOWED:
                    failed = True
                    print(f"{name}:{line}: {call}() may start a program of the current folder; use findProgram() of core/base")
    sys.exit(failed)


main()
