"""Lets a measured program run its steps in turns with others, so that their start-up may overlap and their steps do not.

With --turns the program prints the line "ready" after its warm-up. It then runs one block of steps for each line of its
standard input and prints the median and the fastest of its steps as {"step_ms": …, "quiet_ms": …}, and, of a step, the mean
processor time of the program's threads, "own_ms", and of the recorder's, "recorder_ms". Without --turns it runs one block.
"""

import json
import pathlib
import statistics
import sys
import time


def add_options(parser, steps, warm_up):
    parser.add_argument("--steps", type=int, default=steps, help="steps of a block")
    parser.add_argument("--warm-up", type=int, default=warm_up)
    parser.add_argument("--turns", action="store_true", help="run a block for each line of standard input")


def processor_times():
    """Nanoseconds of the threads of this process: the recorder's, which have a name of its own, and all others."""
    own = recorder = 0
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            spent = int((task / "schedstat").read_text().split()[0])
            name = (task / "comm").read_text()
        except (OSError, IndexError):
            continue  # the thread has ended
        if name.startswith("tilescope"):
            recorder += spent
        else:
            own += spent
    return own, recorder


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
        before = processor_times()
        times = sorted(block(options.steps))
        own, recorder = (1e-6 * (end - start) / options.steps for start, end in zip(before, processor_times()))
        print(json.dumps({"step_ms": 1000 * statistics.median(times), "quiet_ms": 1000 * times[0], "own_ms": own,
                          "recorder_ms": recorder}), flush=True)
