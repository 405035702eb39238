"""Lets a measured program run its steps in turns with others, so that their start-up may overlap and their steps do not.

With --turns the program prints the line "ready" after its warm-up. It then runs one block of steps for each line of its
standard input and prints the median and the fastest of its steps as {"step_ms": …, "quiet_ms": …}. Without --turns it
runs one block.
"""

import json
import statistics
import sys
import time


def add_options(parser, steps, warm_up):
    parser.add_argument("--steps", type=int, default=steps, help="steps of a block")
    parser.add_argument("--warm-up", type=int, default=warm_up)
    parser.add_argument("--turns", action="store_true", help="run a block for each line of standard input")


def run(options, step, synchronize):
    """Runs the blocks of a program and prints their median steps."""

    def block(count):
        times = []
        for _ in range(count):
            synchronize()
            start = time.perf_counter()
            step()
            synchronize()
            times.append(time.perf_counter() - start)
        return times

    block(options.warm_up)
    if options.turns:
        print("ready", flush=True)
    for _ in sys.stdin if options.turns else [""]:
        block(1)  # after the turns of others the first step is slower
        times = sorted(block(options.steps))
        print(json.dumps({"step_ms": 1000 * statistics.median(times), "quiet_ms": 1000 * times[0]}), flush=True)
