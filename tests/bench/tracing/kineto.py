#!/usr/bin/env python3
"""What PyTorch's own profiler costs on the same model: step times bare and profiled, interleaved in one process.

The last line is one JSON object: bare_ms, and for each setting its ms and ratio.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lm"))
from model import LanguageModel

SETTINGS = {
    "kineto_cuda": dict(activities=[ProfilerActivity.CUDA]),
    "kineto_full": dict(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]),
    "kineto_memory_stacks": dict(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True,
                                 with_stack=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--block", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--settings", default="kineto_cuda,kineto_full")
    args = parser.parse_args()

    torch.manual_seed(0)
    with torch.device(args.device):
        model = LanguageModel(args.size, args.context)
        tokens = torch.randint(0, 10_000, (args.batch, args.context))
    synchronize = torch.cuda.synchronize if args.device.startswith("cuda") else (lambda: None)

    def step():
        model.zero_grad(set_to_none=True)
        synchronize()
        start = time.perf_counter_ns()
        model(tokens).sum().backward()
        synchronize()
        return (time.perf_counter_ns() - start) / 1e6

    def block():
        return [step() for _ in range(args.block)]

    for _ in range(args.warmup):
        step()
    settings = args.settings.split(",")
    bare, profiled = [], {name: [] for name in settings}
    for turn in range(args.rounds):
        bare += block()
        for name in settings if turn % 2 == 0 else reversed(settings):
            with profile(**SETTINGS[name]):
                step()  # the profiler's own start-up
                profiled[name] += block()
        bare += block()
    result = dict(bare_ms=statistics.median(bare))
    for name in settings:
        middle = statistics.median(profiled[name])
        result[name] = dict(ms=middle, ratio=middle / result["bare_ms"])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
