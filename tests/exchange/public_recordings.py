#!/usr/bin/env python3
"""Compares imports of public recordings with arithmetic on the recordings themselves.

For each trace of PyTorch (.json, .json.gz) and export of Nsight Systems (.sqlite) computes, without Tilescope, kernels, their nanoseconds,
busy nanoseconds over all devices, copies, memsets and ranks; imports the file and compares.
Other files (profiles of JAX, rocmProfileData) are imported and listed without a comparison.

usage: tests/exchange/public_recordings.py --tilescope PROGRAM FILE…       exit 1 if a figure differs

Run by hand: the recordings are not part of the repository. Prints a line per file: figures, losses, seconds, MB of text, MB of the
recording, share of the kernels' time whose family is `other`.
"""
import argparse
import collections
import decimal
import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

KERNELS = ("kernel", "Kernel", "mtia_ccp_events", "hpu_op")
COPIES = ("gpu_memcpy", "Memcpy")
MEMSETS = ("gpu_memset", "Memset")
FAR_NS = 7 * 24 * 3600 * 10**9


def union(intervals):
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


def text_of(path):
    raw = path.read_bytes()
    while raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    return raw.decode("utf-8", "replace")


def kineto_figures(text):
    root = json.loads(text, parse_float=lambda number: number, strict=False)
    events = root if isinstance(root, list) else root.get("traceEvents", [])
    activities, seen = [], set()
    for event in events:
        if event.get("ph") != "X" or event.get("cat") not in KERNELS + COPIES + MEMSETS or "dur" not in event:
            continue
        args = event.get("args", {})
        start = nanoseconds(event["ts"])
        key = json.dumps([event[part] for part in ("cat", "name", "pid", "tid", "ts", "dur")] + [args], sort_keys=True)
        if key not in seen:  # a duplicate counts once
            activities.append((event["cat"], start, start + max(nanoseconds(event["dur"]), 0), args, event))
        seen.add(key)
    starts = sorted(start for _, start, _, _, _ in activities)
    middle = starts[len(starts) // 2] if starts else 0
    activities = [each for each in activities if abs(each[1] - middle) < FAR_NS and (each[1], each[2]) != (0, 0)]
    kernels = [each for each in activities if each[0] in KERNELS]
    info = root.get("distributedInfo", {}) if isinstance(root, dict) else {}
    return {"kernels": len(kernels), "kernel_ns": sum(end - start for _, start, end, _, _ in kernels),
            "busy_ns": union([(start, end) for _, start, end, _, _ in kernels]),
            "copies": sum(each[0] in COPIES for each in activities), "memsets": sum(each[0] in MEMSETS for each in activities),
            "ranks": sorted([int(info["rank"])] if "rank" in info else [])}


def nsys_figures(path):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    tables = {name for name, in db.execute("select name from sqlite_master where type = 'table'")}

    def rows(table):
        if table not in tables:
            return []
        return [(start, end) for start, end in db.execute(f"select start, end from {table}") if (start, end) != (0, 0)]
    kernels = rows("CUPTI_ACTIVITY_KIND_KERNEL") + rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    return {"kernels": len(kernels), "kernel_ns": sum(end - start for start, end in kernels), "busy_ns": union(kernels),
            "copies": len(rows("CUPTI_ACTIVITY_KIND_MEMCPY")), "memsets": len(rows("CUPTI_ACTIVITY_KIND_MEMSET")), "ranks": None}


def run_figures(output):
    db = sqlite3.connect(output)
    kernels = db.execute("select start, end from CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
    count = lambda table: db.execute(f"select count(*) from {table}").fetchone()[0]
    return {"kernels": len(kernels), "kernel_ns": sum(end - start for start, end in kernels), "busy_ns": union(kernels),
            "copies": count("CUPTI_ACTIVITY_KIND_MEMCPY"), "memsets": count("CUPTI_ACTIVITY_KIND_MEMSET"),
            "ranks": sorted(rank for rank, in db.execute("select rank from process where rank is not null"))}


def share_of_other(tilescope, output):
    """The share of the kernels' time whose family is `other`, in percent; None without kernels."""
    done = subprocess.run([tilescope, "show", output, "kernels", "--format", "json"], capture_output=True, text=True, check=True)
    times = collections.Counter()
    for row in json.loads(done.stdout):
        if row["family"] not in ("copy", "memset"):
            times[row["family"]] += row["total_ns"]
    return 100 * times["other"] / times.total() if times.total() else None


def losses_of(output):
    db = sqlite3.connect(output)
    sums = collections.Counter()
    for kind, count in db.execute("select kind, count from loss"):
        sums[kind] += count
    return ", ".join(f"{kind} {count:,}" for kind, count in sorted(sums.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    different = refused = 0
    for path in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out.tscope"
            began = time.monotonic()
            done = subprocess.run([arguments.tilescope, "import", path, "-o", output], capture_output=True, text=True)
            seconds = time.monotonic() - began
            if done.returncode:
                refused += 1
                print(f"{path.name}: refused: {done.stderr.strip()}")
                continue
            verified = subprocess.run([arguments.tilescope, "verify", output], capture_output=True, text=True).returncode
            found = run_figures(output)
            size = path.stat().st_size
            expected = dict.fromkeys(found)
            if path.suffix == ".sqlite":
                expected = nsys_figures(path)
            elif path.name.endswith((".json", ".json.gz")):
                text = text_of(path)
                size = len(text)
                expected = kineto_figures(text)
            other = share_of_other(arguments.tilescope, output)
            wrong = [f"{name} {expected[name]} but {found[name]}" for name in found
                     if expected[name] is not None and expected[name] != found[name]]
            different += bool(wrong) or verified != 0
            print(f"{path.name}: {found['kernels']:,} kernels, {found['kernel_ns']:,} ns, busy {found['busy_ns']:,} ns, "
                  f"{found['copies']:,} copies, ranks {found['ranks']}; {seconds:.2f} s, {size / 1e6:.1f} MB -> "
                  f"{output.stat().st_size / 1e6:.1f} MB" + (f"; other {other:.1f} %" if other is not None else "") + (f"; verify {verified}" if verified else "") +
                  (f"; losses: {losses_of(output)}" if losses_of(output) else "") +
                  (f"; DIFFERENT: {'; '.join(wrong)}" if wrong else ""))
    print(f"{len(arguments.files)} files, {different} different, {refused} refused")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
