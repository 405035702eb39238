#!/usr/bin/env python3
"""Checks that the help of every page of the window shows a picture of it, made by `packaging/dev screenshots help`.

usage: tests/pages/pictures.py SOURCE
"""
import pathlib
import re
import struct
import sys

MOST_BYTES = 3 << 20  # of all pictures together
WIDE_ENOUGH = 1000
SOURCE = pathlib.Path(sys.argv[1]).resolve()
HELP = SOURCE / "resources/help"


def pages():
    """The names of the window's pages but the help itself."""
    source = (SOURCE / "ui/window/main_window.cpp").read_text()
    names = re.findall(r'\baddPage(?:<\w+>)?\(\s*(?:QStringLiteral\()?"(\w+)"', source)
    return [name for name in names if name != "help"]


def problem(name):
    """What is wrong with the picture of a page; nothing if it is right."""
    page = HELP / f"{name}.md"
    if not page.exists():
        return "there is no page of the help"
    if not re.search(rf"!\[[^\]]{{10,}}\]\(images/{name}\.png\)", page.read_text()):
        return f"resources/help/{name}.md does not show images/{name}.png with a description"
    file = HELP / "images" / f"{name}.png"
    if not file.exists():
        return f"{file.relative_to(SOURCE)} is missing"
    head = file.read_bytes()[:24]
    if head[:8] != b"\x89PNG\r\n\x1a\n" or struct.unpack(">I", head[16:20])[0] < WIDE_ENOUGH:
        return f"{file.relative_to(SOURCE)} is not a picture of a window"
    return None


names = pages()
problems = [f"{name}: {words}" for name in names if (words := problem(name))]
if len(names) < 12:
    problems.append(f"only {len(names)} pages were found in main_window.cpp; this test looks for addPage(")
size = sum(file.stat().st_size for file in (HELP / "images").iterdir())
if size > MOST_BYTES:
    problems.append(f"the pictures take {size} bytes, of at most {MOST_BYTES}")
for line in problems:
    print(line)
sys.exit("run packaging/dev screenshots help" if problems else 0)
