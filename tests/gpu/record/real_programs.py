#!/usr/bin/env python3
"""Records programs of other people's kind on a GPU and prints of each its steps, phases, memory categories, losses and `verify`.

usage: real_programs.py --tilescope PROGRAM --programs FILE [--only NAMES] [--jobs N] [--keep FOLDER]

FILE runs as `python FILE NAME` for the names hf, generate, lightning, compiled, jax and loop. Each is run bare, recorded, and recorded
after `import transformers`. Exit status 1 where a status differs, a recording is damaged, or steps or phases are not those that the
program makes.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

FIRST = "import transformers, runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
# Steps, and calls of forward, backward and the optimizer by step, that the programs make. A compiled model's first call is its forward.
WANTED = {"hf": (40, {"step/forward": 80, "step/backward": 80, "step/optimizer": 40}),
          "generate": (None, {}),
          "lightning": (20, {"step/forward": 20, "step/backward": 20, "step/optimizer": 20}),
          "compiled": (30, {"step/forward": 30, "step/backward": 30, "step/optimizer": 30}),
          "jax": (None, {}),
          "loop": (80, {"step/forward": 80, "step/backward": 80, "step/optimizer": 80})}


def run(words):
    started = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=400)
    done.seconds = round(time.monotonic() - started, 1)
    return done


def told(text):
    """What a program prints but for its times."""
    return re.sub(r"[0-9.e+-]*[0-9]", "#", text)


def check(options, folder, name, first):
    words = [sys.executable, str(options.programs), name]
    if first:
        words[1:1] = ["-c", FIRST]
    bare = None if first else run(words)
    file = folder / f"{name}{'-first' if first else ''}.tscope"
    recorded = run([options.tilescope, "record", "-o", str(file), "--", *words])

    def show(*what):
        done = run([options.tilescope, *what, "--format", "json"])
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else []

    steps = show("show", str(file), "steps")
    ranges = collections.Counter()
    for row in show("show", str(file), "ranges"):
        ranges[row["path"]] += row["instances"]
    phases = {path: count for path, count in ranges.items() if path.count("/") <= 1}
    categories = show("sql", str(file), "select category, count(*) as count, sum(bytes) as bytes from allocations where action = 'alloc'"
                                        " and device is not null group by 1 order by 3 desc")
    verified = run([options.tilescope, "verify", str(file)])
    wrong = []
    if bare and (bare.returncode, told(bare.stdout)) != (recorded.returncode, told(recorded.stdout)):
        wrong.append(f"bare {bare.returncode} {bare.stdout[-400:]} recorded {recorded.returncode} {recorded.stdout[-400:]}")
    if recorded.returncode != 0:
        wrong.append(recorded.stderr[-2000:])
    if verified.returncode != 0:
        wrong.append(verified.stdout + verified.stderr)
    count, wanted = WANTED[name]
    if count is not None and len(steps) != count:
        wrong.append(f"{len(steps)} steps instead of {count}")
    for path, instances in wanted.items():
        if phases.get(path) != instances:
            wrong.append(f"{path}: {phases.get(path)} instead of {instances}")
    text = {"steps": len(steps), "ranges": len(ranges), "phases": phases,
            "memory": [f"{row['category']}: {row['count']} blocks, {row['bytes'] or 0} B" for row in categories],
            "losses": [[row["kind"], row["count"]] for row in show("show", str(file), "losses")],
            "verify": [verified.returncode, (verified.stdout.splitlines() or [""])[-1]],
            "seconds": [bare.seconds if bare else None, recorded.seconds], "program": recorded.stdout.splitlines()[-1:],
            "said": [line for line in recorded.stderr.splitlines() if line.startswith("tilescope record:")]}
    memory = run([options.tilescope, "show", str(file), "memory"]).stdout.splitlines()[:6]
    if options.keep and file.exists():
        shutil.copy(file, options.keep)
    return (f"{name}{' after import transformers' if first else ''}: {'DIFFERS' if wrong else 'right'}\n  "
            + "\n  ".join(f"{key}: {json.dumps(value)}" for key, value in text.items())
            + "\n  memory as shown:\n    " + "\n    ".join(memory) + "".join(f"\n  WRONG {line}" for line in wrong)), bool(wrong)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilescope", required=True, type=os.path.abspath)
    options.add_argument("--programs", required=True, type=pathlib.Path)
    options.add_argument("--only", default=",".join(WANTED))
    options.add_argument("--jobs", type=int, default=4)
    options.add_argument("--keep", type=pathlib.Path)
    options = options.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # The programs of a kind run one after the other: both Trainers write into one folder.
        def both(name):
            return [check(options, pathlib.Path(folder), name, first) for first in (False, True)]

        for results in pool.map(both, options.only.split(",")):
            for text, wrong in results:
                print(text, flush=True)
                failed += wrong
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
