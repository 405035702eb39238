#!/usr/bin/env python3
"""Checks that texts of the window use the right plural (not "1 runs" or "2 row(s)"): a number and its noun come
from counted() of ui/kit/count_text.h.

usage: wording.py ROOT        exit 1 and one line per offence
       wording.py --self-test
"""
import pathlib
import re
import sys

NOUNS = ("allocation block bucket change event file finding group head instance kernel layer note op point range record "
         "repeat row run sample segment series step thread warning wave").split()
PLURAL = "|".join(noun if noun.endswith("s") else noun + "s" for noun in NOUNS)
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
COUNT = re.compile(rf"%L?\d+ (?!percentage )(?:[a-z-]+ )?(?:{PLURAL})\b")
BRACKETED = re.compile(r"[a-z]\(s\)")


def offences(text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "#include")):
            continue
        for literal in LITERAL.findall(line):
            if found := COUNT.search(literal) or BRACKETED.search(literal):
                yield number, found.group(0)


def self_test():
    wrong = ['tr("%1 runs selected")', 'QStringLiteral(", %2 level-of-detail buckets")', '"row(s)"']
    right = ['counted(n, "run")', 'tr("%1 of %2")', '// "%1 runs"', 'tr("step %1, peak %2")', '"runs %1"']
    bad = [text for text in wrong if not list(offences(text))] + [text for text in right if list(offences(text))]
    for text in bad:
        print(f"judged wrongly: {text}")
    sys.exit(1 if bad else 0)


def main():
    if sys.argv[1] == "--self-test":
        self_test()
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in ("ui", "app/gui") for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
    if not files:
        sys.exit(f"{root}: no sources found")
    count = 0
    for path in files:
        for line, words in offences(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(root)}:{line}: '{words}' is wrong for 1; use counted()")
            count += 1
    print(f"{len(files)} files, {count} texts that count wrongly")
    sys.exit(1 if count else 0)


main()
