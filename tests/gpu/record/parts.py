#!/usr/bin/env python3
"""What recording adds to a launch, to a block of memory, to the call of a module and to a whole step of train.py.

usage: parts.py --tilescope PROGRAM [--rounds N]
       parts.py --program

Processes of all variants are alive at the same time and measure by turns, N rounds. Prints the medians in ns with the 95 % interval of the
difference to the bare process of the same round, and the counts of a step, so that the sum of the parts can be compared with the cost of
a step that run.py measures. Needs a GPU.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = {"bare": None, "bare again": None, "kernels": ["--no-modules", "--no-memory"], "modules": ["--no-memory"], "memory": [],
            "ops": ["--ops"]}
REPEATS = 20000
CALLS = 11  # of modules at once: one within which ten are called


def program():
    import torch

    value = torch.zeros(64, device="cuda")
    modules = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(CALLS - 1)))

    def launch():
        value.zero_()

    def block():
        torch.empty(1000, device="cuda")

    def call():
        modules(value)

    def measure(work, repeats):
        torch.cuda.synchronize()
        start = time.perf_counter_ns(), time.thread_time_ns()
        for number in range(repeats):
            work()
            if number % 500 == 499:
                torch.cuda.synchronize()  # the queue of launches does not fill
        end = time.perf_counter_ns(), time.thread_time_ns()
        return [(b - a) / repeats for a, b in zip(start, end)]

    parts = {"launch": (launch, 1), "block": (block, 1), "module": (call, CALLS)}
    for work, _ in parts.values():
        measure(work, 1000)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: [spent / count for spent in measure(work, REPEATS // count)] for name, (work, count) in parts.items()}),
              flush=True)


def median_interval(values):
    """The median and the order statistics that enclose it with about 95 %."""
    ordered = sorted(values)
    away = round(0.98 * len(ordered) ** 0.5)
    middle = len(ordered) // 2
    return statistics.median(ordered), ordered[max(0, middle - away)], ordered[min(len(ordered) - 1, middle + away)]


def count_step(tilescope, folder):
    """How many launches, blocks and calls of modules a step of train.py has."""
    file = str(folder / "step.tscope")
    subprocess.run([tilescope, "record", "-o", file, "--", sys.executable, str(HERE / "train.py"), "--steps", "20", "--warm-up", "5"],
                   capture_output=True, check=False)

    def query(text):
        done = subprocess.run([tilescope, "sql", file, text, "--format", "json"], capture_output=True, text=True, check=False)
        return json.loads(done.stdout)[0] if done.returncode == 0 else {}

    # Complete steps in the middle.
    inside = "step between 10 and 19"
    return query(f"select (select count(*) / 10.0 from kernels where {inside}) as launches,"
                 f" (select count(*) / 10.0 from allocations where action = 'alloc' and device is not null and {inside}) as blocks,"
                 f" (select count(*) / 10.0 from copies where {inside}) as copies")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilescope", type=os.path.abspath)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--program", action="store_true")
    options = options.parse_args()
    if options.program:
        program()
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        processes = {}
        for number, (variant, words) in enumerate(VARIANTS.items()):
            record = [] if words is None else [options.tilescope, "record", "-o", str(folder / f"{number}.tscope"), *words, "--"]
            processes[variant] = subprocess.Popen([*record, sys.executable, os.path.abspath(__file__), "--program"], text=True,
                                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for variant, process in processes.items():
            if process.stdout.readline() != "ready\n":
                raise SystemExit(f"{variant}: the program did not start")
        rounds = []
        for number in range(options.rounds):
            order = list(processes)
            order = order[number % len(order):] + order[:number % len(order)]
            found = {}
            for variant in order:
                processes[variant].stdin.write("\n")
                processes[variant].stdin.flush()
                found[variant] = json.loads(processes[variant].stdout.readline())
            rounds.append(found)
        for process in processes.values():
            process.stdin.close()
            process.wait()
        for part in rounds[0]["bare"]:
            for variant in VARIANTS:
                wall = statistics.median(one[variant][part][0] for one in rounds)
                differences = [median_interval([one[variant][part][kind] - one["bare"][part][kind] for one in rounds]) for kind in (0, 1)]
                texts = ["%+.0f [%+.0f, %+.0f]" % difference for difference in differences]
                print(f"{part:7} {variant:10} {wall:8.0f} ns  wall {texts[0]}  processor time {texts[1]}", flush=True)
        print("a step of train.py:", json.dumps(count_step(options.tilescope, folder)))


if __name__ == "__main__":
    main()
