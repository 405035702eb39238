#!/usr/bin/env python3
"""Compares `show ranks` and `show collectives` of PyTorch traces with arithmetic on the traces themselves.

Reads the traces of all ranks of one job with json and Decimal. For each step and rank it counts compute, exposed communication and
exposed copies nanosecond by nanosecond boundaries of the source's events, and for each collective transfer, waiting, the last rank,
bandwidths, exposed time and the slack of FSDP2's gathers. Only the bounds of the steps are taken from Tilescope.

usage: rank_figures.py --tilescope PROGRAM RANK0.json[.gz] RANK1.json[.gz]…      exit 1 if a figure differs
"""
import argparse
import bisect
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kineto_figures import events_of, nanoseconds  # noqa: E402

ELEMENT = {"Float": 4, "BFloat16": 2, "Half": 2}


class Rank:
    def __init__(self, path):
        events = [event for event in events_of(path) if event.get("ph") == "X"]
        self.compute, self.copies, self.collectives, self.kernels = [], [], [], []
        launches = {}
        self.annotations = []
        for event in events:
            start = nanoseconds(event["ts"])
            end = start + nanoseconds(event["dur"])
            category, arguments = event.get("cat"), event.get("args", {})
            if category == "kernel" and event["name"].startswith("nccl"):
                self.collectives.append((start, end, arguments))
            elif category == "kernel":
                self.compute.append((start, end))
                self.kernels.append((start, end, arguments))
            elif category in ("gpu_memcpy", "gpu_memset"):
                self.copies.append((start, end))
                self.kernels.append((start, end, arguments))
            elif category in ("cuda_runtime", "cuda_driver"):
                launches[arguments.get("correlation")] = (start, end, event["tid"])
            elif category == "user_annotation":
                self.annotations.append((start, end, event["tid"], event["name"]))
        self.collectives.sort(key=lambda each: each[:2])
        self.kernels.sort(key=lambda each: each[:2])
        self.launches = launches

    def annotation(self, correlation, prefix):
        """The innermost annotation of that prefix around a launch."""
        start, end, thread = self.launches[correlation]
        around = [each for each in self.annotations
                  if each[2] == thread and each[0] <= start and end <= each[1] and each[3].startswith(prefix)]
        return max(around)[3] if around else None


def covered(intervals):
    """Sorted disjoint intervals."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif end > start:
            merged.append([start, end])
    return merged


def inside(intervals, time):
    at = bisect.bisect_right([start for start, _ in intervals], time) - 1
    return at >= 0 and time < intervals[at][1]


def parts_of(rank, wall):
    """Between neighbouring boundaries nothing changes: the middle decides."""
    compute, copies = covered(rank.compute), covered(rank.copies)
    communication = covered([(start, end) for start, end, _ in rank.collectives])
    cuts = {wall[0], wall[1]}
    for intervals in (compute, communication, copies):
        cuts.update(time for each in intervals for time in each if wall[0] < time < wall[1])
    cuts = sorted(cuts)
    parts = dict.fromkeys(("compute_ns", "overlapped_ns", "exposed_communication_ns", "exposed_copy_ns"), 0)
    for start, end in zip(cuts, cuts[1:]):
        if inside(compute, start):
            parts["compute_ns"] += end - start
            parts["overlapped_ns"] += (end - start) * inside(communication, start)
        elif inside(communication, start):
            parts["exposed_communication_ns"] += end - start
        elif inside(copies, start):
            parts["exposed_copy_ns"] += end - start
    return parts


def exposed_of(rank, start, end):
    computing = covered([(max(start, a), min(end, b)) for a, b in rank.compute if a < end and b > start])
    return end - start - sum(b - a for a, b in computing)


def slack_of(rank, collective):
    """By FSDP2's annotations: the first kernel or copy of the copy-out of the same module."""
    start, end, arguments = collective
    gather = rank.annotation(arguments["correlation"], "FSDP::all_gather")
    if gather is None:
        return None, None
    wanted = gather.replace("FSDP::all_gather", "FSDP::all_gather_copy_out")
    for first, _, needs in rank.kernels:
        if first < end or needs["correlation"] <= arguments["correlation"]:
            continue
        if rank.annotation(needs["correlation"], "FSDP::all_gather_copy_out") == wanted:
            before = max((b for a, b, other in rank.kernels if other["stream"] == needs["stream"] and a < first), default=0)
            ready = max(start, before, rank.launches[needs["correlation"]][0])
            return first - end, max(0, end - ready)
    return None, None


def collective_of(ranks, n):
    each = [rank.collectives[n] for rank in ranks]
    transfer = min(end - start for start, end, _ in each)
    last = max(start for start, _, _ in each)
    late = [i for i, (start, _, _) in enumerate(each) if start == last]
    arguments = each[0][2]
    count, size = int(arguments["Group size"]), int(arguments["In msg nelems"]) * ELEMENT[arguments["dtype"]]
    name = arguments["Collective name"]
    total = size * count if "gather" in name else size
    factor = (2 if "allreduce" in name else 1) * (count - 1) / count
    figures = {"transfer_ns": transfer, "bytes": size, "algorithm_gb_s": total / transfer, "bus_gb_s": total / transfer * factor,
               "late_rank": late[0] if len(late) == 1 else None,
               "wait_ns": sum(min(last - start, end - start) for start, end, _ in each)}
    per_rank = []
    for rank, (start, end, arguments) in zip(ranks, each):
        slack, stall = slack_of(rank, (start, end, arguments)) if "gather" in name else (None, None)
        per_rank.append({"duration_ns": end - start, "exposed_ns": exposed_of(rank, start, end), "slack_ns": slack, "stall_ns": stall,
                         "wait_ns": min(last - start, end - start)})
    return figures, per_rank, [start for start, _, _ in each]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    ranks = [Rank(path) for path in arguments.files]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out.tscope"
        run = lambda *words: subprocess.run([arguments.tilescope, *words], capture_output=True, text=True, check=True).stdout
        run("import", *map(str, arguments.files), "-o", str(output))
        rows = json.loads(run("show", str(output), "ranks", "--format", "json"))
        collectives = json.loads(run("show", str(output), "collectives", "--format", "json"))
        print(run("show", str(output), "ranks"))
    wrong = checked = 0

    def compare(where, name, ours, theirs):
        nonlocal wrong, checked
        checked += 1
        close = ours == theirs if not isinstance(theirs, float) else abs(ours - theirs) <= 1e-9 * theirs
        if not close:
            wrong += 1
            print(f"{where} {name}: {ours}, by hand {theirs}")

    if len({len(rank.collectives) for rank in ranks} | {len(collectives)}) != 1:
        sys.exit(f"{len(collectives)} collectives, by hand {[len(rank.collectives) for rank in ranks]}")
    origin = None
    for n, row in enumerate(collectives):
        figures, per_rank, starts = collective_of(ranks, n)
        origin = starts[0] - row["per_rank"][0]["start_ns"] if origin is None else origin
        for name, value in figures.items():
            compare(f"collective {n}", name, row[name], value)
        for rank, (ours, theirs) in enumerate(zip(row["per_rank"], per_rank)):
            compare(f"collective {n} rank {rank}", "start_ns", ours["start_ns"] + origin, starts[rank])
            for name, value in theirs.items():
                compare(f"collective {n} rank {rank}", name, ours[name], value)
    for row in rows:
        where = f"step {row['step']} rank {row['rank']}"
        start = row["start_ns"] + origin
        for name, value in parts_of(ranks[row["rank"]], (start, start + row["wall_ns"])).items():
            compare(where, name, row[name], value)
        parts = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "host_ns", "idle_ns")
        compare(where, "sum of the parts", sum(row[name] for name in parts), row["wall_ns"])
    late = [sum(row["late_ns"] for row in rows if row["rank"] == rank) for rank in range(len(ranks))]
    gathers = [row["stall_ns"] for row in collectives if row["slack_ns"] is not None]
    print(f"{len(collectives)} collectives, {len(gathers)} with a slack, of which {sum(stall == 0 for stall in gathers)} in time; "
          f"{len(rows)} steps of ranks; late by rank {late} ns; {checked} figures compared, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
