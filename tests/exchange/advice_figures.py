#!/usr/bin/env python3
"""Compares `show advice` of a PyTorch trace with arithmetic on the trace itself.

Reads the trace of one process with json and Decimal and divides its steps at every boundary of an activity. From what runs between two
boundaries it sums the time at stake of the rules tensor-cores, exposed-communication, exposed-copy, pageable-copy and small-kernels. Only
the bounds of the steps are taken from Tilescope.

usage: advice_figures.py --tilescope PROGRAM [--fp32 TFLOPS --tensor TFLOPS] TRACE.json[.gz]…      exit 1 if a figure differs
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kineto_figures import events_of, nanoseconds  # noqa: E402

LEAST_SHARE = 0.005
SMALL = 10_000


def activities_of(path):
    """(start, end, kind, name, stream) of all activities of the GPU."""
    kinds = {"kernel": "compute", "gpu_memcpy": "copy", "gpu_memset": "memset"}
    for event in events_of(path):
        if event.get("ph") == "X" and event.get("cat") in kinds:
            start = nanoseconds(event["ts"])
            kind = "communication" if event["name"].startswith("nccl") else kinds[event["cat"]]
            yield start, start + nanoseconds(event["dur"]), kind, event["name"], event["args"]["stream"]


def is_fp32_product(activity):
    name = activity[3].lower()
    return activity[2] == "compute" and ("sgemm" in name or "_ffma_" in name) and "tf32" not in name and "tensorop" not in name


def small_series(activities):
    """Series of small neighbours as lists of activities."""
    series, before = [], None
    for each in sorted(activities, key=lambda each: (each[4], each[0], each[1])):
        small = each[2] == "compute" and each[1] - each[0] < SMALL
        if small and before and before[4] == each[4] and each[0] - before[1] < SMALL:
            series[-1].append(each)
        elif small:
            series.append([each])
        before = each if small else None
    return [each for each in series if len(each) > 1]


def stakes_of(activities, walls):
    saved, kept = [], []
    in_series = set()
    for series in small_series(activities):
        in_series.update(series)
        saved.append((series[0][0], max(each[1] for each in series)))
        kept.append(max(series, key=lambda each: each[1] - each[0]))
    others = [each for each in activities if each not in in_series] + kept
    stakes = {"tensor-cores": 0, "exposed-communication": 0, "exposed-copy": 0, "pageable-copy": 0, "small-kernels": 0}
    for wall_start, wall_end in walls:
        inside = [each for each in activities if each[0] < wall_end and each[1] > wall_start]
        bounds = sorted({time for each in [*inside, *saved] for time in each[:2] if wall_start < time < wall_end} | {wall_start, wall_end})
        exposed = room = copies = copy_room = 0
        for start, end in zip(bounds, bounds[1:]):
            length = end - start
            running = [each for each in inside if each[0] <= start and end <= each[1]]
            kinds = {each[2] for each in running}
            between = [each for each in running if each[2] == "copy" and ("HtoD" in each[3] or "DtoH" in each[3])]
            pageable = [each for each in between if "Pageable" in each[3]]
            pinned = [each for each in between if "Pageable" not in each[3]]
            kernels = kinds & {"compute", "communication"}
            if running and all(map(is_fp32_product, running)):
                stakes["tensor-cores"] += length
            exposed += length if "communication" in kinds and "compute" not in kinds else 0
            room += length if "compute" in kinds and "communication" not in kinds else 0
            copies += length if pinned and not kernels else 0
            copy_room += length if kernels and not pinned else 0
            stakes["pageable-copy"] += length if pageable and not kernels else 0
            if any(first <= start and end <= last for first, last in saved) and \
                    not any(each[0] <= start and end <= each[1] for each in others):
                stakes["small-kernels"] += length
        stakes["exposed-communication"] += min(exposed, room)
        stakes["exposed-copy"] += min(copies, copy_room)
    return stakes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--fp32", type=float, default=66.9, help="TFLOP/s of the GPU outside of tensor cores (H200)")
    parser.add_argument("--tensor", type=float, default=989.4, help="fastest of its tensor cores")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    run = lambda *words: subprocess.run([arguments.tilescope, *words], capture_output=True, text=True, check=True).stdout
    wrong = checked = 0
    for path in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            output = str(pathlib.Path(folder) / "out.tscope")
            run("import", str(path), "-o", output)
            advice = json.loads(run("show", output, "advice", "--format", "json"))
            ranks = json.loads(run("show", output, "ranks", "--format", "json"))
            kernel = json.loads(run("sql", output, "SELECT min(start) AS first FROM kernels", "--format", "json"))[0]["first"]
        activities = list(activities_of(path))
        origin = min(each[0] for each in activities if each[2] in ("compute", "communication")) - kernel
        walls = [(origin + row["start_ns"], origin + row["start_ns"] + row["wall_ns"]) for row in ranks]
        whole = sum(end - start for start, end in walls)
        stakes = stakes_of(activities, walls)
        stakes["tensor-cores"] *= 1 - arguments.fp32 / arguments.tensor
        ours = {row["rule"]: row for row in advice if row["at_stake_total_ns"] is not None}
        for rule, by_hand in stakes.items():
            checked += 1
            rows = ours.get(rule, {"evidence": [], "at_stake_total_ns": 0})
            expected = by_hand if by_hand >= LEAST_SHARE * whole else 0
            rounding = len(rows["evidence"]) if rule == "tensor-cores" else 0
            print(f"{path.name} {rule}: {rows['at_stake_total_ns']} ns, by hand {round(expected)} ({100 * by_hand / whole:.2f} %)")
            wrong += abs(rows["at_stake_total_ns"] - expected) > rounding
        for row in ours.values():
            checked += 2
            wrong += sum(each["at_stake_ns"] for each in row["evidence"]) != row["at_stake_total_ns"]
            wrong += row["wall_total_ns"] != whole
    print(f"{checked} figures compared, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
