#!/usr/bin/env python3
"""Measures what sampling metrics costs a program, on a machine with an NVIDIA GPU: a program times a kernel of 200 us and a launch-bound step over and
over, while metrics are sampled by turns. Sampling is of the whole device, so that another recording does it.

usage: tests/gpu/metrics/cost.py [--tilescope PROGRAM] [--blocks N] [--interval T]
The last line is one JSON object: the ratio of the medians with and without sampling, and its 95 % interval.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

TIMED = """
import sys, time, json, torch
a = torch.randn(3072, 3072, device="cuda", dtype=torch.bfloat16); b = torch.randn_like(a); c = torch.empty_like(a)
x = torch.randn(64, device="cuda")
def kernels():
    s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    s.record()
    for _ in range(50): torch.mm(a, b, out=c)
    e.record(); torch.cuda.synchronize()
    return s.elapsed_time(e) / 50
def step():
    t = time.perf_counter()
    for _ in range(500): x.add_(1)
    torch.cuda.synchronize()
    return (time.perf_counter() - t) * 1e3
for _ in range(20): kernels(); step()
while True:
    print(json.dumps({"at": time.monotonic(), "kernel": kernels(), "step": step()}), flush=True)
"""
# Makes a context, so that the recorder loads CUPTI, and waits.
IDLE = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1"); cuda.cuInit(0); context = ctypes.c_void_p(); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
time.sleep(3)
"""


def interval(on, off):
    draw = random.Random(1)
    ratios = sorted(statistics.median(draw.choices(on, k=len(on))) / statistics.median(draw.choices(off, k=len(off)))
                    for _ in range(2000))
    return [ratios[50], ratios[-51]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", default="build/gpu/bin/tilescope")
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--interval", default="100us")
    options = parser.parse_args()
    if subprocess.run(["nvidia-smi"], capture_output=True).returncode != 0:
        print("there is no GPU")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = folder / "times"
        with lines.open("w") as out:
            timed = subprocess.Popen([sys.executable, "-c", TIMED], stdout=out)
            while lines.stat().st_size == 0:
                time.sleep(0.2)
                if timed.poll() is not None:
                    sys.exit("the timed program ended")
            windows = []
            said = ""
            for block in range(options.blocks):
                if block % 2 == 0:
                    start = time.monotonic()
                    time.sleep(1)
                    windows.append((False, start, time.monotonic()))
                    continue
                recorder = subprocess.Popen([options.tilescope, "record", "--metrics", "--metrics-interval", options.interval, "-o",
                                             str(folder / f"{block}.tscope"), "--", sys.executable, "-c", IDLE],
                                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                time.sleep(2)  # driver, CUPTI and the choice of metrics
                start = time.monotonic()
                time.sleep(0.8)
                windows.append((True, start, time.monotonic()))
                said = recorder.communicate()[0]
            timed.kill()
            timed.wait()
        rows = [json.loads(line) for line in lines.read_text().splitlines() if line.endswith("}")]
    print(said)
    result = {}
    for key in ("kernel", "step"):
        blocks = {True: [], False: []}
        for is_on, start, end in windows:
            values = [row[key] for row in rows if start + 0.1 < row["at"] < end]
            if values:
                blocks[is_on].append(statistics.median(values))
        ratio = statistics.median(blocks[True]) / statistics.median(blocks[False])
        result[key] = {"without_ms": statistics.median(blocks[False]), "with_ms": statistics.median(blocks[True]), "ratio": ratio,
                       "ci95": interval(blocks[True], blocks[False]), "blocks": [len(blocks[False]), len(blocks[True])]}
        print(key, json.dumps(result[key]))
    print(json.dumps({"interval": options.interval, **result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
