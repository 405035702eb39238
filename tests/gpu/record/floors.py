#!/usr/bin/env python3
"""What the step of train.py takes longer while CUPTI records kernels, or PyTorch notifies of operators, and nobody reads it: the least that any
recorder costs. One process: blocks of steps with and without it alternate, so that differences between processes do not count.

usage: floors.py --alone LIBRARY --observer LIBRARY [--pairs N]

The libraries are cupti_alone.cpp and observer_alone.cpp of tests/bench/record. Prints the median ratio with its 95 % interval; the last line is
JSON. "at the end" waits for the GPU at the end of a block only, the others after each step.
"""

import argparse
import ctypes
import json
import statistics
import time

import torch
from run import median_interval
from train import make_step

STEPS = 5
SETTLING = 2


def synchronized(step):
    """The median step."""
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def at_the_end(step):
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / STEPS


def compare(step, measure, pairs, on, off):
    def block(recorded):
        on() if recorded else None
        for _ in range(SETTLING):
            step()
        torch.cuda.synchronize()
        found = measure(step)
        off() if recorded else None
        return found

    ratios = []
    for pair in range(pairs):
        times = {which: block(which) for which in ((True, False) if pair % 2 else (False, True))}
        ratios.append(times[True] / times[False])
    return median_interval(ratios)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--alone", required=True)
    options.add_argument("--observer", required=True)
    options.add_argument("--pairs", type=int, default=30)
    options = options.parse_args()
    alone, observer = ctypes.CDLL(options.alone), ctypes.CDLL(options.observer)
    step = make_step(argparse.Namespace(batch=4, autocast=False, workers=0))
    for _ in range(20):
        step()

    def listener(inputs, views):
        return lambda: observer.observe(inputs, views), observer.ignore

    def cupti(settings):
        return lambda: alone.start(settings.encode()), alone.stop

    # Listeners first: what CUPTI leaves in a process comes after them.
    variants = {"nothing": (synchronized, lambda: None, lambda: None),
                "listener": (synchronized, *listener(0, 1)),
                "listener, inputs": (synchronized, *listener(1, 1)),
                "listener, inputs, no views": (synchronized, *listener(1, 0)),
                "CUPTI": (synchronized, *cupti("")),
                "CUPTI, at the end": (at_the_end, *cupti("")),
                "CUPTI zeroed": (synchronized, *cupti("zeroed")),
                "CUPTI zeroed,calls": (synchronized, *cupti("zeroed,calls"))}
    report = {}
    for name, (measure, on, off) in variants.items():
        report[name] = compare(step, measure, options.pairs, on, off)
        print("%-28s %.4f [%.4f, %.4f]" % (name, *report[name]), flush=True)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
