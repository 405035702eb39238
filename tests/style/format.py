#!/usr/bin/env python3
"""Checks that clang-format would not change any source file, and names each that it would, with the command that formats it.

Files that passed are not looked at again while their text, .clang-format and clang-format's version are the same: their hashes
are kept in BUILD/formatted.

usage: format.py ROOT BUILD
"""
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def main():
    root, kept = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "formatted"
    tool = shutil.which("clang-format") or sys.exit("clang-format is missing; run packaging/dev setup")
    files = [p for top in ("core", "app", "kernels", "ui", "tests") for p in sorted((root / top).rglob("*"))
             if p.suffix in SUFFIXES]
    if not files:
        sys.exit(f"{root}: no sources found")
    rules = (root / ".clang-format").read_bytes() + subprocess.run([tool, "--version"], check=True, capture_output=True).stdout
    hashes = {path: hashlib.sha256(rules + path.read_bytes()).hexdigest() for path in files}
    passed = set(kept.read_text().split()) if kept.exists() else set()
    todo = [path for path in files if hashes[path] not in passed]

    def bad(chunk):
        run = subprocess.run([tool, "--dry-run", "-Werror", *map(str, chunk)], capture_output=True, text=True)
        if run.returncode == 0:
            return []
        return sorted({line.split(":", 1)[0] for line in run.stderr.splitlines() if "clang-format-violations" in line}
                      or {run.stderr.strip()})

    chunks = [todo[i:i + 16] for i in range(0, len(todo), 16)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        offenders = sorted(sum(pool.map(bad, chunks), []))
    for name in offenders:
        print(f"{name}: not formatted; run clang-format -i {name}")
    kept.write_text("\n".join(known for path, known in hashes.items() if not offenders or known in passed))
    print(f"{len(files)} files, {len(todo)} looked at, {len(offenders)} not formatted")
    sys.exit(1 if offenders else 0)


main()
