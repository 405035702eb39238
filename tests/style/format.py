#!/usr/bin/env python3
"""Checks that clang-format would not change any source file.

usage: format.py ROOT     names each file that is not, with the command that mends it
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def main():
    root = pathlib.Path(sys.argv[1])
    tool = shutil.which("clang-format") or sys.exit("clang-format is missing; run packaging/dev setup")
    files = [p for top in ("core", "app", "kernels", "ui", "tests") for p in sorted((root / top).rglob("*"))
             if p.suffix in SUFFIXES]
    if not files:
        sys.exit(f"{root}: no sources found")

    def bad(chunk):
        run = subprocess.run([tool, "--dry-run", "-Werror", *map(str, chunk)], capture_output=True, text=True)
        if run.returncode == 0:
            return []
        return sorted({line.split(":", 1)[0] for line in run.stderr.splitlines() if "clang-format-violations" in line}
                      or {run.stderr.strip()})

    chunks = [files[i:i + 16] for i in range(0, len(files), 16)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        offenders = sorted(sum(pool.map(bad, chunks), []))
    for name in offenders:
        print(f"{name}: not formatted; run clang-format -i {name}")
    print(f"{len(files)} files, {len(offenders)} not formatted")
    sys.exit(1 if offenders else 0)


main()
