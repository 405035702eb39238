#!/usr/bin/env python3
"""Checks that the tables of "Making a kernel faster" are those of its results, and that its text has no other decimals.

usage: tests/pages/figures.py SOURCE
"""
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "tests/bench/inside"))
import tables

page = (SOURCE / "resources/help/faster.md").read_text()
results = json.loads((SOURCE / "tests/bench/results/inside-h200.json").read_text())
problems = []
for each in tables.TABLES:
    text = each(results)
    if text.count("\n") < 2:
        problems.append(f"{each.__name__}: the results have no row for this table")
    elif text not in page:
        problems.append(f"{each.__name__}: the page does not have this table:\n{text}")
# A figure of the text is one of a table, or of `results["text"]`, which says where it comes from.
known = {figure for each in tables.TABLES for figure in re.findall(r"\d+\.\d+", each(results))} | set(results["text"])
prose = "\n".join(line for line in page.splitlines() if not line.startswith(("|", "    ", "![")))
for figure in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.]*\.\d)", prose):
    if figure not in known:
        problems.append(f"{figure} is in the text, but in no table and not in the results")
print("\n".join(problems))
sys.exit(1 if problems else 0)
