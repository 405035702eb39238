#!/usr/bin/env python3
"""Runs clang-tidy on every translation unit that does not include torch, CUDA or CUPTI, and caches the results. In
the other units it checks only the locking, if they use a mutex of the project.

A unit is looked at again only when its text, one of the headers it includes (as the compiler recorded them) or .clang-tidy
has changed, so a warm run takes a second or two. Results are kept in BUILD/tidy. Units of one folder are looked at in groups,
which reads the headers they share once: four times as fast. A group with findings, or whose units cannot be compiled
together, is looked at again unit by unit.

usage: tidy.py SOURCE BUILD [FILE…]      given files, it looks at these alone
"""
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FOREIGN = re.compile(r"/torch/include/|/cupti|/nvidia/cu13/include/")
# clang-tidy refuses to run without a check of its own; this one has nothing to find here.
LOCKS = ["--checks=-*,bugprone-virtual-near-miss,clang-diagnostic-thread-safety*"]
GROUP = 8
USING = re.compile(r"^\s*using [\w:]+::\w+;", re.M)
# In a group the units are included files.
GROUPED = ["--header-filter=/(core|app|ui|kernels|tests)/"]


def recorded_headers(build):
    """Object file -> files that the compiler read for it, from ninja's log."""
    ninja = shutil.which("ninja") or sys.exit("ninja is missing; run packaging/dev setup")
    text = subprocess.run([ninja, "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    result, current = {}, None
    for line in text.splitlines():
        if line and not line[0].isspace():
            current = line.split(":", 1)[0]
            result[current] = []
        elif line.strip() and current:
            result[current].append(line.strip())
    return result


def arguments_of(command):
    """The compiler's arguments for clang, without GCC-only options and precompiled headers."""
    words, kept, skip = shlex.split(command), [], False
    for word in words[next(i for i, w in enumerate(words) if re.search(r"(g\+\+|c\+\+|clang\+\+)[^/]*$", w)) + 1:]:
        if skip:
            skip = False
        elif word in ("-o", "-c", "-include"):
            skip = word != "-c"
        elif word.startswith(("-I", "-D", "-std", "-isystem")):
            kept.append(word)
            if word == "-isystem":
                kept.append(None)
        elif kept and kept[-1] is None:
            kept[-1] = word
    return [w for w in kept if w]


def has_mutex(path):
    """Whether the unit itself, or its own header, includes core/base/mutex.h."""
    own = [pathlib.Path(path), pathlib.Path(path).with_suffix(".h")]
    return any('"core/base/mutex.h"' in file.read_text(encoding="utf-8") for file in own if file.exists())


def main():
    source, build, *chosen = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    tool = shutil.which("clang-tidy") or sys.exit("clang-tidy is missing; run packaging/dev setup")
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    headers = recorded_headers(build)
    rules = (source / ".clang-tidy").read_bytes()
    digests = {}

    def digest(path):
        if path not in digests:
            # ninja's log keeps headers that were deleted since.
            file = pathlib.Path(path)
            digests[path] = hashlib.sha256(file.read_bytes() if file.exists() else b"").digest()
        return digests[path]

    todo, skipped, unbuilt = [], 0, 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = entry["file"]
        relative = os.path.relpath(path, source)
        if not path.endswith(".cpp") or relative.startswith("..") or relative.startswith("build"):
            continue
        if chosen and pathlib.Path(path).resolve() not in chosen:
            continue
        output = os.path.relpath(os.path.join(entry["directory"], entry.get("output") or
                                 shlex.split(entry["command"])[-3]), build)
        if output not in headers:
            unbuilt += 1
            continue
        read = [os.path.join(build, h) for h in headers[output]]
        # The CPU kernels use intrinsics of several instruction sets, some unknown to clang 14.
        machine_code = relative.startswith("kernels/cpu/")
        foreign = any(FOREIGN.search(h) for h in read) or "torch_pch" in entry["command"]
        if machine_code or (foreign and not has_mutex(path)):
            skipped += 1
            continue
        key = hashlib.sha256(rules + "\0".join(arguments_of(entry["command"])).encode())
        for header in sorted(read) + [path]:
            if header.startswith(str(source)) and "cmake_pch" not in header:
                key.update(digest(header))
        stamp = stamps / (relative.replace("/", "_") + "." + key.hexdigest()[:24])
        if not stamp.exists():
            todo.append((relative, path, arguments_of(entry["command"]), stamp, LOCKS if foreign else []))

    def clang_tidy(path, arguments, checks):
        return subprocess.run([tool, "--quiet", f"--config-file={source}/.clang-tidy", *checks, path, "--", *arguments,
                               "-include", str(source / "tests/style/source_location.h")],
                              capture_output=True, text=True)

    def keep(job):
        relative, _, _, stamp, _ = job
        for old in stamps.glob(relative.replace("/", "_") + ".*"):
            old.unlink()
        stamp.touch()

    def look(job):
        _, path, arguments, _, checks = job
        run = clang_tidy(path, arguments, checks)
        if run.returncode != 0:
            return (run.stdout + run.stderr).strip()
        keep(job)
        return None

    def look_at_group(jobs):
        if len(jobs) > 1:
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as group:
                group.write("// NOLINTBEGIN(bugprone-suspicious-include)\n")
                group.writelines(f'#include "{job[1]}"\n' for job in jobs)
                group.write("// NOLINTEND(bugprone-suspicious-include)\n")
                group.flush()
                if clang_tidy(group.name, jobs[0][2], jobs[0][4] + GROUPED).returncode == 0:
                    for job in jobs:
                        keep(job)
                    return []
        return [text for text in map(look, jobs) if text]

    def alike(job):
        relative, path, arguments, _, checks = job
        # clang-tidy checks using-declarations of the main file only.
        alone = relative if USING.search(pathlib.Path(path).read_text(encoding="utf-8")) else ""
        return os.path.dirname(relative), arguments, checks, alone

    groups = []
    for _, jobs in itertools.groupby(sorted(todo, key=alike), key=alike):
        jobs = list(jobs)
        groups += [jobs[i:i + GROUP] for i in range(0, len(jobs), GROUP)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for texts in pool.map(look_at_group, groups) for text in texts]
    for text in failures:
        print(text, "\n")
    print(f"{len(todo)} units looked at, {len(failures)} with findings, {skipped} with foreign headers left out")
    if unbuilt:
        sys.exit(f"{unbuilt} units have never been compiled; build first")
    sys.exit(1 if failures else 0)


main()
