#!/usr/bin/env python3
"""Runs clang-tidy on every translation unit that does not include torch, CUDA or CUPTI, and caches the results. In
the other units it checks only the locking, if they use a mutex of the project.

A unit is looked at again only when its text, one of the project's headers that it includes, its compile options, .clang-tidy or
clang-tidy's version has changed, so a warm run takes a second or two. Results are kept in tilescope/tidy of the user's cache for
every build folder and clone, or in BUILD/tidy if that cannot be written; those that no run has used for 30 days are removed.

Units of one library are looked at in groups, which parses the headers they share once: most of the time goes into headers. A group
with findings, or whose units cannot be compiled together, is looked at again in halves. BUILD may compile files one by one or in
batches.

In a clone of a repository it looks only at units that differ from the main branch, or themselves include a file that does: from
the commit in TILESCOPE_TIDY_BASE, otherwise from where HEAD left origin/main. On the main branch itself it looks at what the last
100 commits changed and at a sixteenth of the other units, chosen by the commit, so that all of them have their turn.

usage: tidy.py SOURCE BUILD [FILE…]      given files, it looks at these alone
       tidy.py SOURCE BUILD --all        looks at every unit
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from batches import names

OWN = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)
FOREIGN = re.compile(r"^\s*#\s*include <(torch|ATen|c10|cupti|cuda|cublas|nvtx3/|nvml|nvrtc)", re.M)
# What a name of another file could hide: an unqualified call, a type or a constant.
MENTION = re.compile(r"(?<![\w.:>])(?:[a-z]\w*(?=\s*[(<{])|k?[A-Z]\w*)")
BATCHED = re.compile(r'^#include "(/[^"]+\.cpp)"', re.M)
# clang-tidy refuses to run without a check of its own; this one has nothing to find here.
LOCKS = ["--checks=-*,bugprone-virtual-near-miss,clang-diagnostic-thread-safety*"]
GROUP = 64
KEPT_S = 30 * 24 * 3600
RECENT = 100  # commits
TURNS = 16
# In a group the units are included files.
GROUPED = ["--header-filter=/(core|app|ui|kernels|tests)/"]


def units_of(build):
    """Source file -> the command that compiles it, also of files that are compiled in batches."""
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.name.startswith("unity_"):
            units.update((file, entry["command"]) for file in BATCHED.findall(path.read_text()))
        elif path.suffix == ".cpp":
            units[str(path)] = entry["command"]
    return units


class Headers:
    """The files of the project and the foreign headers that a unit includes, also through others."""

    def __init__(self, *roots):
        self.roots = roots
        self.known = {}

    def of(self, path):
        read, todo = {}, [path]
        while todo:
            file = todo.pop()
            if file not in read:
                read[file] = self.included(file)
                todo += read[file][0]
        return sorted(read), any(foreign for _, foreign in read.values())

    def included(self, path):
        if path not in self.known:
            text = pathlib.Path(path).read_text(encoding="utf-8")
            folders = [pathlib.Path(path).parent, *self.roots]
            own = [folder / name for name in OWN.findall(text) for folder in folders if (folder / name).is_file()]
            self.known[path] = ([str(file) for file in own], bool(FOREIGN.search(text)))
        return self.known[path]


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
    """Whether the unit itself, or its own header, includes core/base/mutex.h or try_mutex.h."""
    own = [pathlib.Path(path), pathlib.Path(path).with_suffix(".h")]
    return any(re.search('"core/base/(try_)?mutex.h"', file.read_text(encoding="utf-8")) for file in own if file.exists())


def groups_of(jobs):
    """Jobs that are compiled and checked alike, where no unit mentions a name that an anonymous namespace of another declares."""
    groups = collections.defaultdict(list)
    for job in sorted(jobs, key=lambda job: (job[2], job[4], job[0])):
        text = pathlib.Path(job[1]).read_text(encoding="utf-8")
        own, words = {name for name, _ in names(text)}, set(MENTION.findall(text))
        alike = groups[tuple(job[2]), tuple(job[4])]
        fitting = [group for group in alike if len(group[0]) < GROUP and not own & group[2] and not words & group[1]]
        if not fitting:
            fitting = [([], set(), set())]
            alike += fitting
        fitting[0][0].append(job)
        fitting[0][1].update(own)
        fitting[0][2].update(words)
    # The longest first, so that no processor works alone at the end.
    return sorted((group[0] for alike in groups.values() for group in alike), key=len, reverse=True)


def folder_of_results(build):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tilescope/tidy"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        if os.access(cache, os.W_OK):
            return cache
    except OSError:
        pass
    (build / "tidy").mkdir(exist_ok=True)
    return build / "tidy"


class Choice:
    """The units to look at: all, or those that differ from the main branch."""

    def __init__(self, source):
        self.source, self.files, self.turn = source, None, ""
        if not shutil.which("git"):
            return
        base = os.environ.get("TILESCOPE_TIDY_BASE") or self.git("merge-base", "HEAD", "origin/main")[0].strip()
        files = self.changed_since(base) if base else set()
        if files & {".clang-tidy", "tests/style/source_location.h"}:
            return
        if base and not files:
            self.turn = self.git("rev-parse", "HEAD")[0].strip()
            base = self.git("rev-parse", "--verify", "--quiet", f"HEAD~{RECENT}")[0].strip()
            files = self.changed_since(base) if base else set()
        if files:
            self.files = {str(source / file) for file in files}

    def git(self, *words):
        run = subprocess.run(["git", "-c", f"safe.directory={self.source}", "-C", self.source, *words], capture_output=True, text=True)
        return run.stdout.split("\0") if run.returncode == 0 else [""]

    def changed_since(self, base):
        return set(self.git("diff", "--name-only", "-z", base) + self.git("ls-files", "--others", "--exclude-standard", "-z")) - {""}

    def has(self, path, included):
        """Whether to look at a unit, which itself includes these files."""
        if self.files is None or not self.files.isdisjoint(map(os.path.abspath, [path, *included])):
            return True
        name = f"{self.turn}\0{os.path.relpath(path, self.source)}"
        return bool(self.turn) and hashlib.sha256(name.encode()).digest()[0] % TURNS == 0


def main():
    looks_at_all = sys.argv[3:] == ["--all"]
    source, build, *chosen = (pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--all")
    tool = shutil.which("clang-tidy") or sys.exit("clang-tidy is missing; run packaging/dev setup")
    stamps = folder_of_results(build)
    headers = Headers(source, build / "generated")
    version = subprocess.run([tool, "--version"], check=True, capture_output=True).stdout
    rules = version + (source / ".clang-tidy").read_bytes() + (source / "tests/style/source_location.h").read_bytes()

    choice = None if chosen or looks_at_all else Choice(source)
    todo, skipped = [], 0
    for path, command in units_of(build).items():
        relative = os.path.relpath(path, source)
        if relative.startswith("..") or relative.startswith("build"):
            continue
        if chosen and pathlib.Path(path).resolve() not in chosen:
            continue
        read, is_foreign = headers.of(path)
        if choice and not choice.has(path, headers.included(path)[0]):
            continue
        # The CPU kernels use intrinsics of several instruction sets, some unknown to clang 14.
        machine_code = relative.startswith("kernels/cpu/")
        foreign = is_foreign or "torch_pch" in command
        if machine_code or (foreign and not has_mutex(path)):
            skipped += 1
            continue
        arguments = arguments_of(command)
        options = "\0".join(arguments).replace(str(build), "BUILD").replace(str(source), "SOURCE")
        key = hashlib.sha256(rules + f"{relative}\0{bool(foreign)}\0{options}".encode())
        for digest in sorted(hashlib.sha256(pathlib.Path(file).read_bytes()).digest() for file in read):
            key.update(digest)
        stamp = stamps / key.hexdigest()[:32]
        if stamp.exists():
            os.utime(stamp)
        else:
            todo.append((relative, path, arguments, stamp, LOCKS if foreign else []))

    def clang_tidy(path, arguments, checks):
        return subprocess.run([tool, "--quiet", f"--config-file={source}/.clang-tidy", *checks, path, "--", *arguments,
                               "-include", str(source / "tests/style/source_location.h")],
                              capture_output=True, text=True)

    def look(job):
        _, path, arguments, _, checks = job
        run = clang_tidy(path, arguments, checks)
        if run.returncode != 0:
            return (run.stdout + run.stderr).strip()
        job[3].touch()
        return None

    def look_at_group(jobs):
        if len(jobs) == 1:
            return [text for text in map(look, jobs) if text]
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as group:
            group.write("// NOLINTBEGIN(bugprone-suspicious-include)\n")
            group.writelines(f'#include "{job[1]}"\n' for job in jobs)
            group.write("// NOLINTEND(bugprone-suspicious-include)\n")
            group.flush()
            if clang_tidy(group.name, jobs[0][2], jobs[0][4] + GROUPED).returncode == 0:
                for job in jobs:
                    job[3].touch()
                return []
        half = len(jobs) // 2
        return look_at_group(jobs[:half]) + look_at_group(jobs[half:])

    groups = groups_of(todo)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for texts in pool.map(look_at_group, groups) for text in texts]
    for old in stamps.iterdir():
        if old.stat().st_mtime < time.time() - KEPT_S:
            old.unlink(missing_ok=True)
    for text in failures:
        print(text, "\n")
    print(f"{len(todo)} units looked at, {len(failures)} with findings, {skipped} with foreign headers left out")
    sys.exit(1 if failures else 0)


main()
