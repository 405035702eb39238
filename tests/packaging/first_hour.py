#!/usr/bin/env python3
"""Times the first hour of a newcomer: `packaging/dev demo` and `packaging/dev test` on an empty Debian, downloads apart.

It copies the tracked files of ROOT into a copy of an empty root folder, installs there everything that they need, and then
times each verb: configuring, compiling, running. The figures mean something only while nothing else runs. It takes about an hour,
10 GB of disk and 6 GB of downloads.

usage: first_hour.py ROOT [VERB …]       VERB: demo, test (default: both, in this order)
       TILESCOPE_TEST_ROOTFS             the root folder, made by: debootstrap --variant=minbase bookworm DIR; see rootfs.py
"""
import os
import pathlib
import re
import subprocess
import sys
import time

from rootfs import Rootfs, why_not

ROOT = pathlib.Path(sys.argv[1]).resolve()
VERBS = sys.argv[2:] or ["demo", "test"]
GOALS = {"demo": "goals: configuring and compiling 240 s, 480 s in all", "test": "goal: 1200 s in all"}


def copy_tree(folder):
    folder.mkdir(parents=True)
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout
    pack = subprocess.Popen(["tar", "-C", ROOT, "--null", "-T", "-", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", folder, "-x", "--no-same-owner"], stdin=pack.stdout)
    pack.stdin.write(files)
    pack.stdin.close()
    if pack.wait() or unpack.wait():
        sys.exit("the tree could not be copied")


def phases(root, verb):
    """Runs a verb of packaging/dev; seconds of its phases, by name."""
    run = subprocess.Popen(["chroot", root.folder, "/root/tilescope/packaging/dev", verb], env=root.environment, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    begin = time.monotonic()
    marks = {"begin": begin}
    for line in run.stdout:
        print(line, end="", file=sys.stderr, flush=True)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
        step = re.match(r"==> (configuring|building) ", plain)
        if step:
            marks[step[1]] = time.monotonic()
        elif re.match(r"\[\d+/\d+\] ", plain):
            marks["built"] = time.monotonic()
    if run.wait():
        sys.exit(f"packaging/dev {verb} failed with exit code {run.returncode}")
    end = time.monotonic()
    if verb == "setup":
        return {"download and installation": end - begin}
    building = marks.get("building", begin)
    built = marks.get("built", building)
    return {"configuring": building - marks.get("configuring", building), "compiling": built - building, "running": end - built,
            "in all": end - begin}


def main():
    unknown = [verb for verb in VERBS if verb not in GOALS]
    if unknown:
        sys.exit(f"no verb {unknown[0]}; known: {', '.join(GOALS)}")
    if why_not():
        sys.exit(why_not())
    with Rootfs() as root:
        copy_tree(root.folder / "root/tilescope")
        print(f"{os.cpu_count()} processors, commit "
              + subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip())
        for verb in ("setup", *VERBS):
            figures = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in phases(root, verb).items())
            print(f"{verb}: {figures}{'; ' + GOALS[verb] if verb in GOALS else ''}", flush=True)


if __name__ == "__main__":
    main()
