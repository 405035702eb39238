#!/usr/bin/env python3
"""Compares imports of Nsight Systems exports with arithmetic on the exports themselves.

For each file prints kernels, their nanoseconds, busy nanoseconds of each device, kernels without a launch, copies, memsets, API
calls with overheads, and NVTX ranges: by SQL on the source, and from the run that `tilescope import` makes of it.

usage: nsys_figures.py --tilescope PROGRAM FILE.sqlite…      exit 1 if a figure differs
       nsys_figures.py FILE.sqlite…                          the source's figures only
"""
import argparse
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile


def union(intervals):
    """Length of the union of intervals that are sorted by start."""
    total, until = 0, None
    for start, end in intervals:
        if until is None or start > until:
            total += end - start
            until = end
        elif end > until:
            total += end - until
            until = end
    return total


def figures_of(path):
    """Of an export, or of a recording, whose views carry the same names."""
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    tables = {name for (name,) in db.execute("select name from sqlite_master where type in ('table', 'view')")}

    def count(table, where="1"):
        return db.execute(f'select count(*) from "{table}" where {where}').fetchone()[0] if table in tables else 0

    figures = {"kernels": 0, "kernel_ns": 0, "busy_ns": [], "kernels_without_launch": 0}
    kernel = "CUPTI_ACTIVITY_KIND_KERNEL"
    if kernel in tables:
        # A recording holds launches of whole graphs as kernels of this name.
        chosen = f"{kernel} join StringIds on StringIds.id = demangledName where value not like 'CUDA graph %'"
        figures["kernels"], figures["kernel_ns"] = db.execute(
            f"select count(*), coalesce(sum(end - start), 0) from {chosen}").fetchone()
        devices = {}
        for device, start, end in db.execute(f"select deviceId, start, end from {chosen} order by start"):
            devices.setdefault(device, []).append((start, end))
        figures["busy_ns"] = sorted(union(intervals) for intervals in devices.values())
        launches = set()
        if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
            launches = set(db.execute("select globalTid / 0x1000000 % 0x1000000, correlationId from CUPTI_ACTIVITY_KIND_RUNTIME"))
        keys = db.execute(f"select globalPid / 0x1000000 % 0x1000000, correlationId from {chosen}")
        figures["kernels_without_launch"] = sum(key not in launches for key in keys)
    figures["copies"] = count("CUPTI_ACTIVITY_KIND_MEMCPY")
    figures["memsets"] = count("CUPTI_ACTIVITY_KIND_MEMSET")
    # A recording holds ops of PyTorch apart, and adds ranges of steps.
    figures["calls"] = count("CUPTI_ACTIVITY_KIND_RUNTIME")
    figures["overheads"] = sum(count(table) for table in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"))
    figures["nvtx_ranges"] = count("NVTX_EVENTS", "eventType in (59, 60, 70, 71)") + count("ops")
    inferred = "environment" in tables and db.execute("select 1 from environment where value like '%(inferred)'").fetchone()
    figures["nvtx_ranges"] -= count("NVTX_EVENTS", "text glob 'step_[0-9]*'") if inferred else 0
    return figures


def shown(tilescope, recording, what):
    command = [tilescope, "show", recording, what, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def import_figures(tilescope, path, folder):
    """From the stored events, and the kernels' sums as `show` prints them."""
    recording = pathlib.Path(folder) / (pathlib.Path(path).name + ".tscope")
    subprocess.run([tilescope, "import", path, "-o", recording], check=True, stdout=subprocess.DEVNULL)
    figures = figures_of(recording)
    kernels = [row for row in shown(tilescope, recording, "kernels")
               if not row["name"].startswith(("Memcpy", "Memset", "CUDA graph "))]
    figures["shown_kernels"] = sum(row["instances"] for row in kernels)
    figures["shown_ns"] = sum(row["total_ns"] for row in kernels)
    figures["losses"] = {}
    for loss in shown(tilescope, recording, "losses"):
        figures["losses"][loss["kind"]] = figures["losses"].get(loss["kind"], 0) + loss["count"]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", help="program that imports the files")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.files:
            source = figures_of(path)
            line = {"file": pathlib.Path(path).name, "source": source}
            if arguments.tilescope:
                imported = line["import"] = import_figures(arguments.tilescope, path, folder)
                expected = source | {"shown_kernels": source["kernels"], "shown_ns": source["kernel_ns"]}
                line["differ"] = [key for key, value in expected.items() if imported[key] != value]
                differ |= bool(line["differ"])
            print(json.dumps(line))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
