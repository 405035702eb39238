"""Creates, runs, kills and ends threads, processes, functions and deep stacks while their stacks are sampled at a high rate.

Run it by `tilescope record --host-samples 10000 -- python fuzz.py SECONDS LOG`. It must end with status 0, and no sample may
contradict its log: during each of the functions that it makes, no other of them runs. check.py compares the two.
"""

import asyncio
import ctypes
import functools
import gc
import json
import os
import random
import signal
import sys
import threading
import time

cupti = ctypes.CDLL(os.environ["FAKE_CUPTI_LIBRARY"], ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
import cupy  # noqa: E402,F401 starts the reading of stacks

try:
    import greenlet
except ImportError:
    greenlet = None

clock = time.monotonic_ns
seconds, log_file = float(sys.argv[1]), sys.argv[2]
rng = random.Random(int(os.environ.get("FUZZ_SEED", "1")))
log = []  # name, start, end
counts = dict(threads=0, forks=0, functions=0, deep=0, killed_threads=0, killed=0, executed=0, tasks=0, greenlets=0, callbacks=0, bad=0)
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
sort = ctypes.CDLL(None).qsort
sys.setrecursionlimit(6000)


def launch():
    cupti.fakeLaunch(b"kernel")


def dying_function(number, call=lambda function, *arguments: function(*arguments)):
    """A function whose code object ends after it has run; the next has the same address. `call` calls it."""
    names = {"clock": clock, "launch": launch}
    name = "f_%d" % number
    exec("def %s(ns):\n    launch()\n    end = clock() + ns\n    while clock() < end: pass\n" % name, names)
    start = clock()
    call(names[name], rng.randint(200_000, 3_000_000))
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


def killed_thread():
    """A thread that ends by an exception which another one raises in it."""
    def run():
        launch()
        while True:
            sum(x for x in range(20))

    def quiet(_):
        pass

    before, threading.excepthook = threading.excepthook, quiet
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(rng.uniform(0, 2e-3))
    while thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
        thread.join(1e-3)
    threading.excepthook = before
    counts["killed_threads"] += 1


def killed_process():
    """A child that a signal kills while it runs, or that executes another program."""
    executes = rng.random() < 0.3
    child = os.fork()
    if child == 0:
        launch()
        if executes:
            os.execv("/bin/true", ["true"])
        while True:
            deep(20)
    if not executes:
        time.sleep(rng.uniform(0, 5e-3))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    counts["executed" if executes else "killed"] += 1
    counts["bad"] += status != (0 if executes else signal.SIGKILL)


def in_task(function, *arguments):
    """Calls a function in a task, with others that wait."""
    async def run():
        await asyncio.sleep(0)
        return function(*arguments)

    async def together():
        await asyncio.gather(run(), *(asyncio.sleep(0) for _ in range(3)))

    asyncio.run(together())
    counts["tasks"] += 1


def in_greenlet(function, *arguments):
    greenlet.greenlet(function).switch(*arguments)
    counts["greenlets"] += 1


def in_callback(function, *arguments):
    """Calls a function from C code."""
    called = []

    def key(_, __):
        if not called:
            called.append(function(*arguments))
        return 0

    sort((ctypes.c_int * 2)(2, 1), 2, ctypes.sizeof(ctypes.c_int), compare(key))
    functools.reduce(max, sorted((2, 1), key=lambda x: -x))
    counts["callbacks"] += 1


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
    calls = [in_task, in_callback] + ([in_greenlet] if greenlet else [])
    while time.monotonic() < until:
        kind = rng.random()
        if kind < 0.60:
            dying_function(number)
            number += 1
        elif kind < 0.75:
            dying_function(number, rng.choice(calls))
            number += 1
        elif kind < 0.83:
            threads()
        elif kind < 0.84:
            killed_thread()
        elif kind < 0.85:
            killed_process()
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
