#!/usr/bin/env python3
"""Compares the FLOP rates of `tilescope show FILE roofline --group shape` with those that TraceLens publishes.

TraceLens keeps reports of its own, as CSV files, beside the recordings of its tests. For each product and each attention call
of such a report, this program finds the ops with the same sizes in Tilescope's table and compares TFLOP/s. It prints, for each
recording, the share of GPU time with counted work, the number of compared groups and the largest difference.

usage: work_figures.py TILESCOPE FOLDER...    FOLDER: holds NAME.json.gz and NAME_perf_report_csvs/
exit status 1 if a rate differs by more than 1 %, or if less than 95 % of the time that has ops is counted
"""
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

csv.field_size_limit(1 << 30)
TENSOR = re.compile(r"(\w*)\[([\d, ]*)\]")
PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1, "aten::linear": 0}


def tensors(shapes):
    return [[int(size) for size in sizes.split(", ") if size] for _, sizes in TENSOR.findall(shapes or "")]


def product_sizes(op, shapes):
    """(batch, m, n, k) of a product, as TraceLens counts them."""
    first = PRODUCTS[op]
    a, b = tensors(shapes)[first:first + 2]
    if op == "aten::linear":
        rows = 1
        for size in a[:-1]:
            rows *= size
        return 1, rows, b[0], b[1]
    batch = a[0] if len(a) == 3 else 1
    return batch, a[-2], b[-1], a[-1]


def reported(folder, name, key):
    """(GFLOP, microseconds) by `key` of the rows of a report."""
    groups = collections.defaultdict(lambda: [0.0, 0.0])
    path = folder / name
    if not path.exists():
        return groups
    for row in csv.DictReader(path.open()):
        group = groups[key(row)]
        group[0] += float(row["GFLOPS_first"]) * int(row["name_count"])
        group[1] += float(row["Kernel Time (\u00b5s)_sum"])
    return groups


def sizes_of(row, names):
    return tuple(int(float(row["param: " + name])) for name in names)


def compare(tilescope, trace, folder):
    with tempfile.TemporaryDirectory() as scratch:
        recording = pathlib.Path(scratch) / "a.tscope"
        subprocess.run([tilescope, "import", trace, "-o", recording], check=True, capture_output=True)
        shown = subprocess.run([tilescope, "show", recording, "roofline", "--group", "shape", "--format", "json"],
                               check=True, capture_output=True, text=True)
        rows = json.loads(shown.stdout)
    time = sum(row["time_ns"] for row in rows)
    linked = sum(row["time_ns"] for row in rows if row["op"] != "unattributed")
    counted = sum(row["counted_ns"] for row in rows)
    ours = collections.defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        if not row["flops"]:
            continue
        if row["op"] in PRODUCTS:
            key = ("product", *product_sizes(row["op"], row["shapes"]))
        elif row["family"] == "attention" and "backward" not in row["op"]:
            q, k = tensors(row["shapes"])[:2]
            key = ("attention", *q, k[-2])
        else:
            continue
        ours[key][0] += row["flops"] / 1e9
        ours[key][1] += row["counted_ns"] / 1e3
    theirs = {("product", *key): value for key, value in
              reported(folder, "GEMM.csv", lambda row: sizes_of(row, ["B", "M", "N", "K"])).items()}
    theirs.update({("attention", *key): value for key, value in reported(
        folder, "SDPA_fwd.csv",
        lambda row: (*(sizes_of(row, [x])[0] for x in ["B", "H_Q", "N_Q", "d_h_qk"]), sizes_of(row, ["N_KV"])[0])).items()})
    differences = {}
    for key, (gflop, micros) in theirs.items():
        if key not in ours or micros == 0 or ours[key][1] == 0:
            differences[key] = None
            continue
        differences[key] = (ours[key][0] / ours[key][1]) / (gflop / micros) - 1
    found = [abs(value) for value in differences.values() if value is not None]
    print(f"{trace.name}: {100 * counted / time:.1f} % of {time / 1e6:.3f} ms counted, "
          f"{100 * counted / max(1, linked):.1f} % of the time with ops; {len(found)} of {len(theirs)} groups compared, "
          f"largest difference {100 * max(found, default=0):.2f} %")
    for key, value in sorted(differences.items(), key=str):
        if value is None or abs(value) > 0.01:
            print(f"  {key}: {'not found' if value is None else f'{100 * value:+.2f} %'}")
    for row in sorted(rows, key=lambda row: row["counted_ns"] - row["time_ns"])[:5]:
        if row["time_ns"] > row["counted_ns"] + 0.002 * time:
            print(f"  not counted: {(row['time_ns'] - row['counted_ns']) / 1e6:.3f} ms of {row['op']} "
                  f"{row['shapes'] or ''}: {row['why']}")
    return max(found, default=0) <= 0.01 and counted >= 0.95 * linked


def main(arguments):
    if len(arguments) < 2:
        print(__doc__)
        return 2
    agree = True
    for folder in map(pathlib.Path, arguments[1:]):
        for trace in sorted(folder.glob("*.json.gz")):
            reports = folder / trace.name.replace(".json.gz", "_perf_report_csvs")
            agree = compare(arguments[0], trace, reports) and agree
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
