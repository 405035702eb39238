#!/usr/bin/env python3
"""The same recipe and recording give the same bytes of every figure, whichever process draws them.

usage: tests/ui/same_charts.py TILESCOPE_GUI UI_FIXTURE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

WINDOW, FIXTURE = sys.argv[1:3]
PROCESSES = 6  # two fonts stand in the same order by chance in one of two


def drawn(folder, number):
    """The bytes of each file of the figure, by name."""
    target = folder / str(number)
    # Of Qt's variables, QT_HASH_SEED would hide that the order of a hash gets into a file.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QT_")}
    environment["HOME"] = str(folder)
    subprocess.run([WINDOW, "lm.tscope", "--charts", "time.json", "-o", target], cwd=folder, env=environment,
                   check=True, timeout=300)
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    folder.chmod(0o700)
    (folder / "time.json").write_text('{"tilescope_chart": 1, "x": "batch", "title": "Time of a step"}\n')
    subprocess.run([FIXTURE, "lm", folder / "lm.tscope"], check=True, stdout=subprocess.DEVNULL)
    first = drawn(folder, 0)
    missing = {"time.pdf", "time.svg", "time.png"} - set(first)
    if missing:
        sys.exit(f"not drawn: {', '.join(sorted(missing))}")
    different = {file for number in range(1, PROCESSES) for file, data in drawn(folder, number).items() if data != first[file]}
for file in sorted(different):
    print(f"{file} differs between two processes")
sys.exit(1 if different else 0)
