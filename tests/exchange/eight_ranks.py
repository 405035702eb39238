#!/usr/bin/env python3
"""Checks what is said of a recording of eight ranks: two traced steps of the tiny model with fsdp+tp on a CPU.

The ranks form four rows of two. The parts of each step and rank, and of its critical path, add up to its wall time; each
collective has all ranks of its group, lasts as long as on its shortest rank, and nobody waits after the last has arrived.

usage: eight_ranks.py TILESCOPE RECORDING      exit 1 if a check fails
The recording: tilescope run lm --size tiny --heads 8 --gpus 8 --mode train --parallel fsdp+tp --batch 2 --context 16 --memory false
--device cpu --trace-steps 2 --steps 3 --warmup 1 -o eight_ranks.tscope
"""
import json
import subprocess
import sys

TILESCOPE, RECORDING = sys.argv[1:3]
RANKS, STEPS = range(8), range(2)
PARTS = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "host_ns", "idle_ns")
PATH_PARTS = ("host_ns", "launch_ns", "compute_ns", "memory_ns", "communication_ns", "data_loading_ns", "synchronization_ns",
              "unexplained_ns")
ROWS = {"all_gather": 4, "reduce_scatter": 4}
failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else f': {more}'}")
    failed += not holds


def show(section, *options):
    done = subprocess.run([TILESCOPE, "show", RECORDING, section, "--format", "json", "--limit", "0", *options], text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def facts_of(row):
    """What must hold of a collective, by its words."""
    ranks = row["per_rank"]
    durations = [rank["duration_ns"] for rank in ranks]
    starts = {rank["rank"]: rank["start_ns"] for rank in ranks}
    return {
        "has all ranks": len(ranks) == row["ranks"] and not row["missing_ranks"],
        "lasts as long as on its shortest rank": row["transfer_ns"] == min(durations),
        "ends its waiting with the last arrival": starts[row["late_rank"]] == max(starts.values()),
        "waits as long as its ranks": row["wait_ns"] == sum(rank["wait_ns"] for rank in ranks),
        "waits less than it lasts": all(0 <= rank["wait_ns"] <= rank["duration_ns"] for rank in ranks),
        "is exposed at most as long as it lasts": all(rank["exposed_ns"] <= rank["duration_ns"] for rank in ranks),
        "is between ranks of a row or a column": row["op"] not in ROWS or row["ranks"] == ROWS[row["op"]],
    }


def main():
    verified = subprocess.run([TILESCOPE, "verify", RECORDING], text=True, capture_output=True)
    check(verified.returncode == 0, "the recording is not damaged", verified.stdout + verified.stderr)
    ranks = show("ranks")
    check(sorted((row["step"], row["rank"]) for row in ranks) == [(step, rank) for step in STEPS for rank in RANKS],
          "each rank has both steps")
    off = [row for row in ranks if sum(row[part] for part in PARTS) != row["wall_ns"]]
    check(not off, "parts add up to the wall time", off)
    paths = show("path")
    off = [row for row in paths if sum(row[part] for part in PATH_PARTS) != row["wall_ns"]]
    check(len(paths) == len(ranks) and not off, "parts of critical paths add up to the wall time", off)
    collectives = show("collectives")
    check({row["op"] for row in collectives} >= {"all_gather", "reduce_scatter", "all_reduce"}, "three kinds of collectives are there")
    verdicts = [facts_of(row) for row in collectives]
    for what in verdicts[0]:
        off = [row for row, facts in zip(collectives, verdicts) if not facts[what]]
        check(not off, f"each of {len(collectives)} collectives {what}", off[:1])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
