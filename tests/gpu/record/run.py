#!/usr/bin/env python3
"""Records programs on a GPU: what each recording holds, how it compares with torch.profiler, and what it costs.

usage: run.py --tilescope PROGRAM [--pairs N] [--seconds S] [--only PART]

Prints a table of programs, the comparison, and last one JSON line. Cost: bare, with kernels and with modules as
well, interleaved; ratios of the median steps with their 95 % interval (t distribution of the logarithms).
"""

import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Quantiles 0.975 of Student's t by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
           11: 2.201, 12: 2.179, 14: 2.145, 16: 2.120, 19: 2.093, 24: 2.064, 29: 2.045}


def quantile(freedom):
    return STUDENT[max(known for known in STUDENT if known <= freedom)]


class Session:
    def __init__(self, tilescope, folder):
        self.tilescope = tilescope
        self.folder = pathlib.Path(folder)
        self.count = 0

    def run(self, command):
        start = time.monotonic()
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=240, check=False)
        return result, time.monotonic() - start

    def record(self, command, *options):
        self.count += 1
        file = self.folder / f"{self.count}.tscope"
        result, seconds = self.run([self.tilescope, "record", "-o", str(file), *options, "--", *command])
        return file, result, seconds

    def show(self, file, *what):
        result, _ = self.run([self.tilescope, "show", str(file), *what, "--format", "json"])
        return json.loads(result.stdout) if result.returncode == 0 else []


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {}


def programs(session, gpus):
    python = sys.executable
    script = str(HERE / "programs.py")
    commands = {"PyTorch": [python, str(HERE / "train.py"), "--steps", "20"],
                "transformers": [python, script, "transformers"],
                "JAX": [python, script, "jax"],
                "CuPy": [python, script, "cupy"],
                "Triton": [python, script, "triton"]}
    binary = session.folder / "vector_add"
    built, _ = session.run(["nvcc", "-o", str(binary), str(HERE / "vector_add.cu")])
    if built.returncode == 0:
        commands["CUDA C++"] = [str(binary)]
    if gpus > 1:
        commands["torchrun"] = [python, "-m", "torch.distributed.run", "--nproc-per-node=2", script, "ddp"]
    rows = {}
    for name, command in commands.items():
        file, result, seconds = session.record(command)
        kernels = [row for row in session.show(file, "kernels")]
        ranges = session.show(file, "ranges")
        rows[name] = {"exit": result.returncode, "kernels": sum(row["instances"] for row in kernels),
                      "names": len(kernels), "ranges": len(ranges), "steps": len(session.show(file, "steps")),
                      "losses": [[loss["count"], loss["detail"]] for loss in session.show(file, "losses")],
                      "seconds": round(seconds, 1)}
        print(f"{name:14} {rows[name]}", flush=True)
        if result.returncode != 0 or not kernels:
            print(result.stdout[-500:], result.stderr[-1500:], flush=True)
        if name == "PyTorch":
            text, _ = session.run([session.tilescope, "show", str(file), "ranges"])
            print("\n".join(text.stdout.splitlines()[:40]), flush=True)
    return rows


def truth(session):
    command = [sys.executable, str(HERE / "train.py"), "--steps", "20"]
    profiled = last_json(session.run([*command, "--profiler"])[0].stdout)
    file, _, _ = session.record(command)
    ours = collections.Counter()
    total = 0
    for row in session.show(file, "kernels"):
        if not row["name"].startswith("Mem"):
            ours[row["name"]] += row["instances"]
            total += row["total_ns"]
    theirs = collections.Counter(profiled.get("kernels", {}))
    differing = {name: [ours[name], theirs[name]] for name in sorted({*ours, *theirs}) if ours[name] != theirs[name]}
    report = {"kernels": sum(ours.values()), "torch.profiler": sum(theirs.values()), "names": len(theirs),
              "differing": differing, "gpu_time_ratio": total / max(profiled.get("kernel_ns", 0), 1)}
    print("torch.profiler:", json.dumps(report), flush=True)
    return report


def cost(session, pairs, deadline):
    command = [sys.executable, str(HERE / "train.py"), "--steps", "80"]
    variants = {"bare": None, "kernels": ["--no-modules"], "modules": []}
    steps = collections.defaultdict(list)
    for i in range(pairs):
        if time.monotonic() > deadline:
            break
        order = list(variants)
        # Each variant takes each place.
        for name in order[i % 3:] + order[:i % 3]:
            options = variants[name]
            result = session.run(command)[0] if options is None else session.record(command, *options)[1]
            steps[name].append(last_json(result.stdout).get("step_ms", math.nan))
    report = {"pairs": min(len(values) for values in steps.values())}
    for name in ("kernels", "modules"):
        ratios = [math.log(ours / bare) for ours, bare in zip(steps[name], steps["bare"])]
        half = (quantile(len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
                if len(ratios) > 1 else math.inf)
        mean = statistics.fmean(ratios)
        report[name] = [round(math.exp(value), 4) for value in (mean, mean - half, mean + half)]
    report["step_ms"] = {name: [round(value, 3) for value in values] for name, values in steps.items()}
    print("cost:", json.dumps(report), flush=True)
    return report


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tilescope", required=True)
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--seconds", type=float, default=900, help="begin no pair after this time")
    options.add_argument("--only", choices=["programs", "truth", "cost"])
    options = options.parse_args()
    deadline = time.monotonic() + options.seconds
    gpus = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.count("GPU ")
    with tempfile.TemporaryDirectory() as folder:
        session = Session(os.path.abspath(options.tilescope), folder)
        report = {}
        if options.only in (None, "truth"):
            report["truth"] = truth(session)
        if options.only in (None, "programs"):
            report["programs"] = programs(session, gpus)
        if options.only in (None, "cost"):
            report["cost"] = cost(session, options.pairs, deadline)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
