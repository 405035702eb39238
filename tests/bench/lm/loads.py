"""Loads the engine op into Python and runs a point on the CPU.

usage: loads.py LIBRARY

A library that brings a C++ library of its own, as one linked with -static-libstdc++ does, crashes in a process that has another.
"""
import json
import os
import pathlib
import sys

import torch

os.environ.setdefault("TILESCOPE_RESOURCES", str(pathlib.Path(__file__).resolve().parents[3] / "resources"))
torch.ops.load_library(sys.argv[1])
KEYS = ["device=cpu", "mode=train", "d_model=32", "d_ff=64", "layers=1", "heads=4", "context=16", "vocab=100", "trace=off", "warmup=1",
        "steps=2", "threads=1"]
for compiler in ("none", "fused"):
    answer = json.loads(torch.ops.tilescope_bench.run_point("lm", [*KEYS, f"compile={compiler}"]))
    if answer["status"] != "ok" or not answer["samples"] or not answer["loss"] > 0:
        sys.exit(f"compile {compiler}: {answer}")
    print(f"compile {compiler}: loss {answer['loss']:.4f}")
