#!/usr/bin/env python3
"""Compares imports of PyTorch traces with arithmetic on the traces themselves.

For each file prints kernels, their nanoseconds, busy nanoseconds of each device, kernels without a launch, copies, memsets, ops and
API calls: by json and Decimal from the source, and from the run that `tilescope import` makes of it.

usage: kineto_figures.py --tilescope PROGRAM FILE.json[.gz]…      exit 1 if a figure differs
       kineto_figures.py FILE.json[.gz]…                          the source's figures only
       kineto_figures.py --reference FIGURES.json …               compares with known figures, too: {"kineto": {NAME: {…}}}
"""
import argparse
import decimal
import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

KERNELS = ("kernel", "Kernel")
CALLS = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "mtia_runtime", "Runtime")
FIGURES = ("kernels", "kernel_ns", "busy_ns", "kernels_without_launch", "copies", "memsets", "ops", "api_calls")


def union(intervals):
    """Length of the union of intervals."""
    total, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            total += end - start
            until = end
        elif end > until:
            total += end - until
            until = end
    return total


def nanoseconds(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def events_of(path):
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")
    # Numbers with a fraction or an exponent stay text: a double would not hold them.
    root = json.loads(text, parse_float=lambda text: text, strict=False)
    return root if isinstance(root, list) else root["traceEvents"]


def source_figures(path):
    events = [event for event in events_of(path) if event.get("ph") == "X"]
    of = lambda *categories: [event for event in events if event.get("cat") in categories]
    intervals = {}
    for event in of(*KERNELS):
        start = nanoseconds(event["ts"])
        device = event.get("args", {}).get("device", event["pid"])
        intervals.setdefault(int(device), []).append((start, start + nanoseconds(event["dur"])))
    launches = {event.get("args", {}).get("correlation") for event in of(*CALLS)}
    return {"kernels": len(of(*KERNELS)),
            "kernel_ns": sum(end - start for each in intervals.values() for start, end in each),
            "busy_ns": sorted(union(each) for each in intervals.values()),
            "kernels_without_launch": sum(event.get("args", {}).get("correlation") not in launches for event in of(*KERNELS)),
            "copies": len(of("gpu_memcpy", "Memcpy")), "memsets": len(of("gpu_memset", "Memset")),
            "ops": len(of("cpu_op", "Operator")), "api_calls": len(of(*CALLS))}


def run_figures(program, path):
    """By the views of the recording, which carry the names of Nsight Systems' tables, and by its losses."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out.tscope"
        done = subprocess.run([program, "import", path, "-o", output], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        db = sqlite3.connect(output)
        one = lambda sql: db.execute(sql).fetchone()[0]
        intervals = {}
        for device, start, end in db.execute("select deviceId, start, end from CUPTI_ACTIVITY_KIND_KERNEL"):
            intervals.setdefault(device, []).append((start, end))
        calls = "CUPTI_ACTIVITY_KIND_RUNTIME"
        figures = {"kernels": sum(map(len, intervals.values())),
                   "kernel_ns": sum(end - start for each in intervals.values() for start, end in each),
                   "busy_ns": sorted(union(each) for each in intervals.values()),
                   "kernels_without_launch": one("select count(*) from CUPTI_ACTIVITY_KIND_KERNEL where correlationId not in "
                                                 f"(select correlationId from {calls} where correlationId is not null)"),
                   "copies": one("select count(*) from CUPTI_ACTIVITY_KIND_MEMCPY"),
                   "memsets": one("select count(*) from CUPTI_ACTIVITY_KIND_MEMSET"),
                   "ops": one("select count(*) from op"), "api_calls": one(f"select count(*) from {calls}")}
        losses = json.loads(subprocess.run([program, "show", output, "losses", "--format", "json"], capture_output=True,
                                           text=True).stdout or "[]")
        return figures, losses, done.stdout.strip()


def differs_from_reference(figures, reference):
    found = [name for name in ("kernels", "kernels_without_launch") if name in reference and reference[name] != figures[name]]
    if "kernel_us" in reference and nanoseconds(str(reference["kernel_us"])) != figures["kernel_ns"]:
        found.append("kernel_ns")
    # Sums of doubles miss nanoseconds.
    if "busy_us" in reference and abs(nanoseconds(str(reference["busy_us"])) - sum(figures["busy_ns"])) > 1000:
        found.append("busy_ns")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope")
    parser.add_argument("--reference", type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    references = json.loads(arguments.reference.read_text())["kineto"] if arguments.reference else {}
    wrong = 0
    for path in arguments.files:
        source = source_figures(path)
        run, losses, summary = run_figures(arguments.tilescope, path) if arguments.tilescope else ({}, [], "")
        print(f"{path}\n  {summary}" if summary else path)
        for name in FIGURES:
            same = not run or run[name] == source[name]
            wrong += not same
            print(f"  {name:24}{source[name]!s:>24}" + (f"{run[name]!s:>24}  {'same' if same else 'DIFFERS'}" if run else ""))
        for key, reference in references.items():
            if key.endswith("/" + path.name):
                found = differs_from_reference(run or source, reference)
                wrong += len(found)
                off = sum((run or source)["busy_ns"]) - nanoseconds(str(reference.get("busy_us", 0)))
                print("  reference: " + (f"DIFFERS in {', '.join(found)}" if found else f"same, busy time {off:+} ns"))
        for loss in losses if isinstance(losses, list) else losses.get("losses", []):
            print("  loss:", json.dumps(loss, ensure_ascii=False))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
