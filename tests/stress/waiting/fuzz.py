"""Creates, runs and ends threads, processes, functions and deep stacks while their stacks are sampled at a high rate.

Run it by `tilescope record --host-samples 10000 -- python fuzz.py SECONDS LOG`. It must end with status 0, and no sample may
contradict its log: during each of the functions that it makes, no other of them runs. check.py compares the two.
"""

import ctypes
import gc
import json
import os
import random
import sys
import threading
import time

cupti = ctypes.CDLL(os.environ["FAKE_CUPTI_LIBRARY"], ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
import cupy  # noqa: E402,F401 starts the reading of stacks

clock = time.monotonic_ns
seconds, log_file = float(sys.argv[1]), sys.argv[2]
rng = random.Random(int(os.environ.get("FUZZ_SEED", "1")))
log = []  # name, start, end
counts = dict(threads=0, forks=0, functions=0, deep=0, bad=0)
sys.setrecursionlimit(6000)


def launch():
    cupti.fakeLaunch(b"kernel")


def dying_function(number):
    """A function whose code object ends after it has run; the next has the same address."""
    names = {"clock": clock, "launch": launch}
    name = "f_%d" % number
    exec("def %s(ns):\n    launch()\n    end = clock() + ns\n    while clock() < end: pass\n" % name, names)
    start = clock()
    names[name](rng.randint(200_000, 3_000_000))
    log.append((name, start, clock()))
    counts["functions"] += 1


def deep(n):
    if n % 500 == 3:
        launch()
    return deep(n - 1) if n else 0


def in_thread():
    launch()
    end = clock() + rng.randint(10_000, 2_000_000)
    while clock() < end:
        sum(x for x in range(20))
    launch()


def threads():
    started = [threading.Thread(target=in_thread) for _ in range(rng.randint(1, 6))]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    counts["threads"] += len(started)


def fork():
    child = os.fork()
    if child == 0:
        launch()
        deep(50)
        gc.collect()
        os._exit(7)
    counts["forks"] += 1
    counts["bad"] += os.WEXITSTATUS(os.waitpid(child, 0)[1]) != 7


def generators():
    def inner():
        for i in range(50):
            launch() if i % 25 == 0 else None
            yield i

    def outer():
        yield from inner()

    sum(outer())


def main():
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        kind = rng.random()
        if kind < 0.75:
            dying_function(number)
            number += 1
        elif kind < 0.85:
            threads()
        elif kind < 0.90:
            deep(rng.randint(100, 5000))
            counts["deep"] += 1
        elif kind < 0.97:
            generators()
        else:
            fork()
    with open(log_file, "w") as file:
        json.dump({"offset": time.time_ns() - clock(), "calls": log}, file)
    print(json.dumps(counts))
    sys.exit(1 if counts["bad"] else 0)


main()
