#!/usr/bin/env python3
"""Checks on recordings that the answers of `show tree`, `show path` and `compare` add up to the tables of the same recordings.

For each file: the call tree holds every nanosecond of the table of kernels once; its rows add up; the spans before and after an instant
add up to the whole; the inverted tree has the same sum; a run compared with itself has no parts; the parts of each step's critical path
add up to its wall time, and a simulation without a change predicts it. For each pair of files: the parts of the change add up to
it, and so does the differential tree. With --aligned SHARE the last pair must be aligned to that share.

usage: sums.py --tilescope PROGRAM [--aligned SHARE] FILE…      exit 1 if a sum differs
"""
import argparse
import itertools
import json
import subprocess
import sys
import tempfile

PARTS = ["host_ns", "launch_ns", "compute_ns", "memory_ns", "communication_ns", "data_loading_ns", "synchronization_ns",
         "unexplained_ns"]
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


class Program:
    def __init__(self, program, cache):
        self.program, self.environment = program, {"XDG_CACHE_HOME": cache, "PATH": "/usr/bin:/bin", "HOME": cache}

    def json(self, *words):
        done = subprocess.run([self.program, *words, "--format", "json"], capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def roots(rows, key):
    return sum(row[key] for row in rows if row["parent"] is None)


def check_path(tilescope, file):
    paths = tilescope.json("show", file, "path")
    walls = sorted((row["step"], row["wall_ns"]) for row in tilescope.json("show", file, "steps"))
    check(paths and all(sum(row[part] for part in PARTS) == row["wall_ns"] for row in paths), f"{file}: the parts of paths add up")
    check(sorted((row["step"], row["wall_ns"]) for row in paths) == walls, f"{file}: paths are as long as steps")
    segments = tilescope.json("show", file, "path", "--step", str(paths[0]["step"]))
    check(sum(row["duration_ns"] for row in segments) == sum(row["wall_ns"] for row in paths if row["step"] == paths[0]["step"]),
          f"{file}: segments add up to the path")
    same = [step for row in tilescope.json("show", file, "what-if", "--scale", "matmul=1") for step in row["per_step"]]
    check(len(same) == len(walls) and all(step["predicted_ns"] == step["wall_ns"] for step in same),
          f"{file}: without a change the recorded steps are predicted")


def check_file(tilescope, file):
    kernels = sum(row["total_ns"] for row in tilescope.json("show", file, "kernels"))
    tree = tilescope.json("show", file, "tree")
    check(sum(row["self_ns"] for row in tree) == kernels, f"{file}: the tree adds up to the table of kernels")
    check(roots(tree, "total_ns") == kernels, f"{file}: the roots add up to the table of kernels")
    check(all(row["self_ns"] == 0 or row["kind"] in ("kernel", "copy", "memset") for row in tree),
          f"{file}: GPU time stands on kernels, copies and memsets")
    below = {}
    for row in tree:
        below[row["parent"]] = below.get(row["parent"], 0) + row["total_ns"]
    check(all(row["total_ns"] == row["self_ns"] + below.get(row["id"], 0) for row in tree), f"{file}: rows add up")
    inverted = tilescope.json("show", file, "tree", "--invert")
    check(roots(inverted, "total_ns") == kernels, f"{file}: the inverted tree has the same sum")
    # The middle of a recording of some milliseconds; kernels that run there are divided.
    for weight in ("time", "host"):
        whole = roots(tilescope.json("show", file, "tree", "--weight", weight, "--from", "0"), "total_ns")
        for middle in ("1000000", "12345678"):
            parts = [roots(tilescope.json("show", file, "tree", "--weight", weight, *span), "total_ns")
                     for span in (("--to", middle), ("--from", middle))]
            if weight == "time":
                check(sum(parts) == whole, f"{file}: spans at {middle} ns add up, {parts} to {whole}")
            else:
                check(0 <= sum(parts) <= whole, f"{file}: host time of spans at {middle} ns, {parts} of {whole}")
    itself = tilescope.json("compare", file, file)
    check(not itself["parts"] and itself["alignment"]["aligned"] > 0.99, f"{file}: is no different from itself")
    change = tilescope.json("show", file, "tree", "--against", file)
    check(all(row["difference_ns"] == 0 for row in change), f"{file}: its tree is no different from itself")
    check_path(tilescope, file)


def check_pair(tilescope, a, b):
    result = tilescope.json("compare", a, b)
    alignment = result["alignment"]
    check(sum(part["delta_ns"] for part in result["parts"]) == result["delta_ns"], f"{a}, {b}: parts add up to the change")
    print(f"{a} {b}: {result['delta_ns']} ns in {len(result['parts'])} parts, {100 * alignment['aligned']:.2f} % aligned by "
          f"{alignment['by']}")
    tree = tilescope.json("show", b, "tree", "--against", a)
    check(roots(tree, "difference_ns") == sum(row["self_difference_ns"] for row in tree), f"{a}, {b}: the differential tree adds up")
    return alignment["aligned"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--aligned", type=float, default=0)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        tilescope = Program(arguments.tilescope, cache)
        for file in arguments.files:
            check_file(tilescope, file)
        aligned = 1
        for a, b in itertools.combinations(arguments.files, 2):
            aligned = check_pair(tilescope, a, b)
        check(aligned >= arguments.aligned, f"{aligned} of the last pair is aligned")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
