#!/usr/bin/env python3
"""Reads traces written by `tilescope export --kineto` with HolisticTraceAnalysis and compares them with their recording.

usage: tests/exchange/kineto_check.py FILE.tscope OUT.json[.gz]…

Run by hand: python3 -m venv V && V/bin/pip install HolisticTraceAnalysis && V/bin/python tests/exchange/kineto_check.py …
Prints the counts and HolisticTraceAnalysis' breakdown of time, and exits with 1 if events or nanoseconds are missing.
"""
import gzip
import json
import os
import sqlite3
import sys
from decimal import Decimal

from hta.trace_analysis import TraceAnalysis

RECORDING, TRACES = sys.argv[1], [os.path.abspath(path) for path in sys.argv[2:]]
GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def nanoseconds(text):
    return int(Decimal(text) * 1000)


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=str)


files = {}
events = total = 0
for place, path in enumerate(TRACES):
    trace = load(path)
    files[trace.get("distributedInfo", {}).get("rank", place)] = path
    gpu = [event for event in trace["traceEvents"] if event.get("cat") in GPU]
    events += len(gpu)
    total += sum(nanoseconds(event["dur"]) for event in gpu)

database = sqlite3.connect(f"file:{RECORDING}?mode=ro", uri=True)
run = database.execute("select max(id) from run").fetchone()[0]
stored = database.execute("select count(*), coalesce(sum(duration), 0) from (select duration from kernel where run = ? "
                          "union all select duration from copy where run = ?)", (run, run)).fetchone()

analysis = TraceAnalysis(trace_files=files, include_last_profiler_step=True)
parsed = 0
for rank in files:
    frame = analysis.t.get_trace(rank)
    parsed += int((frame["stream"] >= 0).sum())
print(f"{events:,} GPU events of {total:,} ns in the traces, {stored[0]:,} of {stored[1]:,} ns in the recording; "
      f"HolisticTraceAnalysis has {parsed:,} events with a stream")
print(analysis.get_temporal_breakdown(visualize=False).to_string())
print(analysis.get_gpu_kernel_breakdown(visualize=False)[0].to_string())
sys.exit(0 if (events, total) == stored and parsed >= events else 1)
