#!/usr/bin/env python3
"""Checks that each source file uses every name that it brings into scope by a using-declaration.

The check misc-unused-using-decls of clang-tidy looks at the main file only; tests/style/tidy.py parses several files as one.

usage: usings.py ROOT        exit 1 and one line per offence
       usings.py --self-test
"""
import pathlib
import re
import sys

from batches import IGNORED

FOLDERS = ("core", "app", "ui", "kernels", "tests")
USING = re.compile(r"^[ \t]*using (?:typename )?(?:\w*::)+(\w+);", re.M)


def offences(text):
    """Line and name of each using-declaration of a source file whose name is not used without qualification."""
    code = IGNORED.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    for match in USING.finditer(code):
        rest = code[:match.start()] + code[match.end():]
        if not re.search(rf"(?<!::)(?<!\.)(?<!->)\b{match[1]}\b", rest):
            yield code.count("\n", 0, match.start()) + 1, match[1]


def self_test():
    text = """using std::vector;
    using ::testing::Each;
    using testing::Not; // Not here
    using a::b::Called;
    using Alias = std::map;
    /* Each
    */ const char* words = "Each";
    vector<int> list = x.Called() + y::Called();
    """
    found = list(offences(text))
    assert found == [(2, "Each"), (3, "Not"), (4, "Called")], found
    print("usings self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root, failed = pathlib.Path(sys.argv[1]), False
    for top in FOLDERS:
        for file in sorted((root / top).rglob("*.cpp")):
            for line, name in offences(file.read_text(encoding="utf-8")):
                failed = True
                print(f"{file.relative_to(root).as_posix()}:{line}: nothing uses {name}; delete the using-declaration")
    sys.exit(failed)


main()
