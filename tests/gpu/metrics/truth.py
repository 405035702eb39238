#!/usr/bin/env python3
"""Compares metrics that `tilescope record --metrics` samples with what Nsight Compute counts, on a machine with an NVIDIA GPU: of kernels longer
than a millisecond (kernels.py, or those of ../inside/known.cu), the tensor pipe and the traffic of device memory within 3 percentage points.
Without ncu, or where it cannot read counters, it says so and checks what the kernels are known to do.

usage: tests/gpu/metrics/truth.py [--tilescope PROGRAM] [--keep FOLDER] [--known PROGRAM]
Prints a table; the last line is one JSON object; exit 1 where a check fails, 77 (skipped) where there is no GPU.
"""
import argparse
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
APART = 3  # percentage points

OF_NCU = {
    "sm_active": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "tensor_active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram_read": "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
    "dram_write": "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
}
# What must agree; the first and last waves of a kernel make its SM activity depend on where samples begin.
COMPARED = ("tensor_active", "dram_read", "dram_write")


# of known.cu, with ten times the work, so that each takes longer than a millisecond
KNOWN = ("fma_only", "dram_copy", "bank_conflicts", "barrier_imbalance", "tensor_cores", "pointer_chase")
SCALE = 10


def kind_of(kernel):
    for name in KNOWN:
        if name in kernel:
            return name
    if "multiply_add" in kernel:
        return "multiply_add"
    if "copy" in kernel.lower() or "Memcpy" in kernel:
        return "copy"
    if "nvjet" in kernel or "gemm" in kernel:
        return "product"
    return None


def sampled(tilescope, folder, program):
    file = folder / "truth.tscope"
    ended = subprocess.run([tilescope, "record", "--metrics", "-o", str(file), "--", *program], text=True, capture_output=True)
    print(ended.stdout + ended.stderr, flush=True)
    rows = json.loads(subprocess.run([tilescope, "show", str(file), "metrics", "--format", "json"], text=True, capture_output=True,
                                     check=True).stdout)
    values = {}
    for row in rows:
        kind = kind_of(row["kernel"] or "")
        if kind and row["mean"] is not None:
            values.setdefault(kind, {})[row["metric"]] = row
    print(subprocess.run([tilescope, "show", str(file), "metrics"], text=True, capture_output=True).stdout)
    print(subprocess.run([tilescope, "show", str(file), "losses"], text=True, capture_output=True).stdout)
    return values


def counted(program, kernels):
    """Means of ncu by kind of kernel and metric; empty if it cannot count."""
    if not shutil.which("ncu"):
        print("ncu is not installed")
        return {}
    command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--metrics", ",".join(OF_NCU.values()),
               "-k", f"regex:{kernels}", *program]
    out = subprocess.run(command, text=True, capture_output=True).stdout
    lines = out[out.find('"ID"'):] if '"ID"' in out else ""
    sums = {}
    for row in csv.DictReader(io.StringIO(lines)):
        kind = kind_of(row["Kernel Name"])
        metric = next((key for key, name in OF_NCU.items() if name == row["Metric Name"]), None)
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue
        if kind and metric:
            sums.setdefault(kind, {}).setdefault(metric, []).append(value)
    if not sums:
        print("ncu cannot count here:", out[-400:])
    return {kind: {metric: sum(values) / len(values) for metric, values in each.items()} for kind, each in sums.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", default="build/gpu/bin/tilescope")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the recording")
    parser.add_argument("--known", help="the program that known.cu makes: its kernels instead of those of kernels.py")
    options = parser.parse_args()
    if subprocess.run(["nvidia-smi"], capture_output=True).returncode != 0:
        print("there is no GPU")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        kernels = [sys.executable, str(HERE / "kernels.py")]
        program = [options.known, "all", "300", str(SCALE)] if options.known else kernels
        metrics = sampled(options.tilescope, options.keep or pathlib.Path(folder), program)
    reference = counted([options.known, "all", "1", str(SCALE)] if options.known else [*kernels, "5"],
                        "|".join(KNOWN) if options.known else "gemm|nvjet|multiply_add|copy")
    failures = []
    result = {}
    for kind in KNOWN if options.known else ("product", "copy", "multiply_add"):
        for metric in OF_NCU:
            row = metrics.get(kind, {}).get(metric)
            expected = reference.get(kind, {}).get(metric)
            mine = row["mean"] if row else None
            print(f"{kind:14} {metric:14} sampled {mine if mine is None else round(mine, 2)} (n {row['n'] if row else 0}, {row['ci95'] if row else None})"
                  f"  ncu {expected if expected is None else round(expected, 2)}")
            result[f"{kind}.{metric}"] = [mine, expected]
            if metric in COMPARED and (mine is None or (expected is not None and abs(mine - expected) > APART)):
                failures.append(f"{kind}: {metric}")
    known = {"product.tensor_active": (70, 100), "copy.dram_read": (35, 55), "copy.dram_write": (35, 55), "copy.tensor_active": (0, 1),
             "multiply_add.dram_read": (0, 2), "multiply_add.tensor_active": (0, 1), "multiply_add.sm_active": (85, 100)}
    if options.known:
        known = {"tensor_cores.tensor_active": (30, 100), "dram_copy.dram_read": (30, 55), "dram_copy.dram_write": (30, 55),
                 "fma_only.tensor_active": (0, 10), "fma_only.dram_read": (0, 2), "fma_only.sm_active": (85, 100),
                 "bank_conflicts.tensor_active": (0, 1), "barrier_imbalance.dram_read": (0, 2), "pointer_chase.tensor_active": (0, 1)}
    for key, (least, most) in known.items():
        if result[key][0] is None or not least <= result[key][0] <= most:
            failures.append(f"{key} is not from {least} to {most}")
    for failure in failures:
        print("failed:", failure)
    print(json.dumps({"failures": failures, "values": result, "ncu": bool(reference)}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
