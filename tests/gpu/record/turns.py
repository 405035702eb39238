"""Lets a measured program run its steps in turns with others, so that their start-up may overlap and their steps do not.

With --turns the program prints the line "ready" after its warm-up. It then runs one block of steps for each line of its
standard input and prints its process and the median and the fastest of its steps as {"process": …, "step_ms": …,
"quiet_ms": …}, and, of a step, the mean processor time of the program's threads, "own_ms", and of the recorder's,
"recorder_ms", the same by the names of the threads, "threads_ms", and page faults and switches of the program's threads,
"counts". Without --turns it runs one block.
"""

import json
import os
import pathlib
import statistics
import sys
import time


def add_options(parser, steps, warm_up):
    parser.add_argument("--steps", type=int, default=steps, help="steps of a block")
    parser.add_argument("--warm-up", type=int, default=warm_up)
    parser.add_argument("--turns", action="store_true", help="run a block for each line of standard input")


def read_threads():
    """What the threads of this process have taken: a table of number and name to nanoseconds, page faults, and switches of their own
    accord and against it."""
    found = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            spent = int((task / "schedstat").read_text().split()[0])
            name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
            switches = [int(line.split()[1]) for line in (task / "status").read_text().splitlines() if "ctxt_switches" in line]
        except (OSError, IndexError):
            continue  # the thread has ended
        found[task.name, name] = (spent, int(rest.split()[7]), *switches)
    return found


def taken(before, after):
    """Between two readings: nanoseconds by name of a thread, those of the program and of the recorder, whose threads have a name of
    its own, and page faults and switches of the program's threads."""
    names, own, recorder, counts = {}, 0, 0, [0, 0, 0]
    for thread, end in after.items():
        spent, *others = [a - b for a, b in zip(end, before.get(thread, (0, 0, 0, 0)))]
        names[thread[1]] = names.get(thread[1], 0) + spent
        if thread[1].startswith("tilescope"):
            recorder += spent
        else:
            own += spent
            counts = [a + b for a, b in zip(counts, others)]
    return names, own, recorder, dict(zip(("faults", "waits", "preempted"), counts))


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
        before = read_threads()
        times = sorted(block(options.steps))
        names, own, recorder, counts = taken(before, read_threads())
        each = 1e-6 / options.steps
        print(json.dumps({"process": os.getpid(), "step_ms": 1000 * statistics.median(times), "quiet_ms": 1000 * times[0], "own_ms": own * each,
                          "recorder_ms": recorder * each,
                          "threads_ms": {name: round(spent * each, 4) for name, spent in names.items() if spent > 0},
                          "counts": {name: count / options.steps for name, count in counts.items()}}), flush=True)
