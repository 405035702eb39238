"""Programs with known truth: functions burn random times between launches, and `tilescope show FILE waiting` must find them.

Each layout has other functions and other times. The program notes when each function ran. The truth is the time for which it
ran while the GPU was idle and the next launch had not begun, by the recorded times of the GPU. Without --gpu that is
the one of tests/fakes/fake_cupti_library.cpp, which is idle except for a microsecond after each launch.
"""

import argparse
import array
import bisect
import concurrent.futures
import json
import math
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

FAKE = """import ctypes, os
cupti = ctypes.CDLL(os.environ["FAKE_CUPTI_LIBRARY"], ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
import cupy
kernel = b"kernel"
def launch():
    cupti.fakeLaunch(kernel)
"""
REAL = """import torch
numbers = torch.zeros(64, device="cuda")
numbers.add_(1)
torch.cuda.synchronize()
def launch():
    numbers.add_(1)
"""
HEAD = """import array, hashlib, queue, sys, threading, time
clock = time.monotonic_ns
log = array.array("q")
def note(number, start, end):
    log.extend((number, start, end))
tasks, results = queue.Queue(), queue.Queue()
def serve():
    while True:
        duration = tasks.get()
        end = clock() + duration
        while clock() < end: pass
        results.put(None)
threading.Thread(target=serve, daemon=True).start()
block = b"x" * 20000
"""

# Without a GPU, where PyTorch would load the real CUPTI: modules with the names of PyTorch's loader that work as it does.
STAND_IN = {
    "torch/__init__.py": '__version__ = "0.0"\n',
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "from .dataloader import DataLoader\nclass Dataset: pass\n",
    "torch/utils/data/_utils/__init__.py": "",
    "torch/utils/data/_utils/fetch.py": """class _MapDatasetFetcher:
    def __init__(self, dataset):
        self.dataset = dataset
    def fetch(self, index):
        return self.dataset[index]
class _IterableDatasetFetcher:
    def fetch(self, index):
        raise NotImplementedError
""",
    "torch/utils/data/dataloader.py": """import multiprocessing
from ._utils import fetch
def _worker_loop(dataset, indices, data):
    fetcher = fetch._MapDatasetFetcher(dataset)
    while True:
        data.put(fetcher.fetch(indices.get()))
class _BaseDataLoaderIter:
    def __iter__(self):
        return self
    def __next__(self):
        return self._next_data()
class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        context = multiprocessing.get_context("fork")
        self._indices, self._data, self._index = context.Queue(), context.Queue(), 0
        self._workers = [context.Process(target=_worker_loop, args=(loader.dataset, self._indices, self._data), daemon=True)
                         for _ in range(loader.num_workers)]
        for worker in self._workers:
            worker.start()
        for _ in range(2 if len(self._workers) == 1 else 1): # of several processes one loads at a time
            self._ask()
    def _ask(self):
        self._indices.put(self._index)
        self._index += 1
    def _get_data(self):
        return self._data.get()
    def _next_data(self):
        data = self._get_data()
        self._ask()
        return data
class DataLoader:
    def __init__(self, dataset, batch_size, num_workers):
        self.dataset, self.num_workers = dataset, num_workers
    def __iter__(self):
        return _MultiProcessingDataLoaderIter(self)
""",
}
LOADERS = """import torch.utils.data
class Items(torch.utils.data.Dataset):
    def __init__(self, item):
        self.item = item
    def __len__(self):
        return 1 << 40
    def __getitem__(self, i):
        return self.item()
def below(depth, call):
    return below(depth - 1, call) if depth else call()
"""
# A function that waits for a process, which loads each item in another function. Both note when they ran.
LOADER = """def {item}():
    start = clock()
    end = start + {ns}
    while clock() < end: pass
    return start, clock()
{name}_items = below({depth}, lambda: iter(torch.utils.data.DataLoader(Items({item}), batch_size=None, num_workers={workers})))
def {name}():
    start = clock()
    began, ended = next({name}_items)
    note({number}, start, clock())
    note({number} + 1, began, ended)
"""

# What a function does for `ns` nanoseconds.
BODIES = {
    "python": "    end = start + {ns}\n    while clock() < end: pass\n",
    "nested": "    def inner(n):\n        if n: return inner(n - 1)\n        end = start + {ns}\n"
              "        while clock() < end: pass\n    inner(6)\n",
    "generator": "    def values():\n        end = start + {ns}\n        while clock() < end: yield 1\n    sum(values())\n",
    "sleep": "    time.sleep({ns} / 1e9)\n",
    "native": "    end = start + {ns}\n    while clock() < end: hashlib.sha256(block)\n",
    "callback": "    end = start + {ns}\n    while clock() < end: sorted((2, 1), key=lambda x: x)\n",
    "thread": "    tasks.put({ns})\n    results.get()\n",
}


def layout(seed, on_gpu, loaders, idle):
    """A random program and the names of its functions. Of each loader, `idle` processes do nothing at the bottom of a deep stack."""
    rng = random.Random(seed)
    functions, called = [], []
    text = (REAL if on_gpu else FAKE) + HEAD + (LOADERS if loaders else "")
    kinds = sorted(BODIES) + ["loader"] * loaders
    for i in range(rng.randint(4, 8)):
        kind = kinds[-1] if loaders and i == 0 else rng.choice(kinds)
        name = "%s_%d" % (kind, i)
        ns = int(math.exp(rng.uniform(math.log(30e3), math.log(2e6))))
        launches = rng.choice((0, 1, 1, 3))
        called.append(name)
        if kind == "loader":
            item = "item_%d" % i
            text += LOADER.format(name=name, item=item, ns=rng.randint(1, 8) * 1_000_000, number=len(functions), workers=1 + idle,
                                  depth=150 if idle else 0)
            functions += [name, item]
        else:
            text += "def %s():\n    start = clock()\n%s    note(%d, start, clock())\n" % (
                name, BODIES[kind].format(ns=ns), len(functions))
            functions.append(name)
        text += "    launch()\n" * launches
    order = called + [rng.choice(called) for _ in range(rng.randint(0, 3))]
    rng.shuffle(order)
    text += "def step():\n" + "".join("    %s()\n" % name for name in order) + "    launch()\n"
    text += ("until = time.monotonic() + float(sys.argv[1])\nlaunch()\nwhile time.monotonic() < until: step()\n"
             "log.tofile(open(sys.argv[2], 'wb'))\n")
    return text, functions


def waiting_host(file):
    """Times in which the GPU is idle and the host has not launched, in order, and their sum with all other idle time."""
    database = sqlite3.connect("file:%s?mode=ro" % file, uri=True)
    origin = database.execute("select clock_origin from run").fetchone()[0]
    origin -= database.execute("select offset from clock order by clock limit 1").fetchone()[0]  # to the clock of the program
    work = database.execute("select start, duration, queued from kernel union all select start, duration, queued from copy "
                            "order by start").fetchall()
    spans, idle, covered = [], 0, None
    for start, duration, queued in work:
        if covered is not None and start > covered:
            idle += start - covered
            if queued is not None and start - queued > covered:
                spans.append((covered + origin, min(start, start - queued) + origin))
        covered = max(covered or 0, start + duration)
    return spans, idle


def divided(waits, items):
    """The waits in which no item was loaded, and those in which one was."""
    without, within, at = [], [], 0
    for start, end in waits:
        while at < len(items) and items[at][1] <= start:
            at += 1
        i = at
        while i < len(items) and items[i][0] < end:
            began, ended = max(start, items[i][0]), min(end, items[i][1])
            without.append((start, began))
            within.append((began, ended))
            start = ended
            i += 1
        without.append((start, end))
    return without, within


def truth_of(log, functions, spans):
    """Of each function the time in the spans."""
    starts, truth = [start for start, _ in spans], dict.fromkeys(functions, 0)
    calls = [[] for _ in functions]
    for i in range(0, len(log), 3):
        calls[log[i]].append((log[i + 1], log[i + 2]))
    for number, name in enumerate(functions):
        if name.startswith("loader_"):
            calls[number], calls[number + 1] = divided(calls[number], calls[number + 1])
    for number, start, end in ((number, *call) for number, own in enumerate(calls) for call in own):
        at = max(0, bisect.bisect_right(starts, start) - 1)
        while at < len(spans) and spans[at][0] < end:
            truth[functions[number]] += max(0, min(end, spans[at][1]) - max(start, spans[at][0]))
            at += 1
    return truth


def rows_of(options, file, *words):
    return json.loads(subprocess.run([options.tilescope, "show", str(file), *words, "--format", "json"], check=True,
                                     capture_output=True, text=True).stdout)


def measure(options, seed, parent):
    """Records one layout. Returns pairs of found and true shares, in percent, with their 95 % intervals, and figures."""
    text, functions = layout(seed, options.gpu, options.loaders, options.idle)
    folder = parent / str(seed)
    folder.mkdir()
    modules = {"cupy.py": "", **(STAND_IN if options.loaders and not options.gpu else {})}
    packages = folder / "site-packages"
    for name, module in modules.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(module)
    script, file, log_file = folder / "program.py", folder / "program.tscope", folder / "log"
    script.write_text(text)
    environment = dict(os.environ, FAKE_CUPTI_LIBRARY=options.cupti or "", PYTHONPATH=str(packages))
    subprocess.run([options.tilescope, "record", "--host-samples", str(options.rate), "--counter-interval", "0", "-o",
                    str(file), "--", options.python, str(script), str(options.seconds), str(log_file)], check=True,
                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = rows_of(options, file, "waiting", "--group", "line")
    log = array.array("q", log_file.read_bytes())
    spans, total = waiting_host(file)
    truth = truth_of(log, functions, spans)
    # The lines of each function, of those in it as well, by the text.
    of_line, current = {}, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("def "):
            current = line[4:line.index("(")]
        of_line[number] = current
    found, low, high = {}, {}, {}
    samples = sum(row["samples"] or 0 for row in rows)
    idle = sum(row["idle_ns"] for row in rows)
    assert abs(idle - total) <= len(rows), "the table has %d ns of idle time, the GPU's times %d" % (idle, total)
    for row in rows:
        name = of_line.get(row["line"]) if row["file"] and row["file"].endswith("program.py") else None
        if name in functions:
            found[name] = found.get(name, 0) + row["idle_ns"]
            if row["interval_ns"]:
                below, above = row["idle_ns"] - row["interval_ns"][0], row["interval_ns"][1] - row["idle_ns"]
                low[name] = math.hypot(low.get(name, 0), below)
                high[name] = math.hypot(high.get(name, 0), above)
    sums = rows_of(options, file, "waiting", "--group", "cause")
    assert sum(row["idle_ns"] for row in sums) == idle, "the sum over causes differs from that over lines"
    said = next((row["value"] for row in rows_of(options, file, "environment") if row["key"] == "record.host_samples"), "")
    file.unlink()
    log_file.unlink()
    pairs = [(name, 100 * found.get(name, 0) / idle, 100 * truth[name] / idle, 100 * low.get(name, 0) / idle,
              100 * high.get(name, 0) / idle) for name in functions]
    return pairs, samples, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--cupti", help="libcupti.so.13 of tests/fakes")
    parser.add_argument("--gpu", action="store_true", help="launch on a GPU, by PyTorch")
    parser.add_argument("--loaders", action="store_true", help="also functions that wait for processes of a data loader")
    parser.add_argument("--idle", type=int, default=0, help="processes of each data loader that do nothing; not with --gpu")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--layouts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="layouts that run at once")
    options = parser.parse_args()
    if not options.gpu and not options.cupti:
        parser.error("give --cupti or --gpu")
    if options.idle and options.gpu:
        parser.error("--idle needs the data loader of this program, which asks for one item at a time")
    options.tilescope = str(pathlib.Path(options.tilescope).resolve())
    errors, signed, held, intervals, outside, unseen = [], {}, 0, 0, [], []
    print("seed  function        found %   true %   samples of the layout")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.layouts)
        for seed, (pairs, samples, said) in zip(seeds, pool.map(lambda each: measure(options, each, pathlib.Path(folder)), seeds)):
            print("%4d  %d samples; %s" % (seed, samples, said), flush=True)
            late = float(said.split(" stacks, ")[1].split(", ")[1].split(" %")[0]) if " stacks, " in said else 100.0
            for name, found, true, low, high in pairs:
                errors.append(abs(found - true))
                signed.setdefault(name.split("_")[0], []).append(found - true)
                if found == 0:  # no sample, so no row and no interval
                    print("      %-14s        - %8.2f" % (name, true))
                    unseen.append(true)
                    continue
                holds = found - low <= true <= found + high
                print("      %-14s %8.2f %8.2f   -%.2f +%.2f%s" % (name, found, true, low, high, "" if holds else "  not in it"))
                intervals += 1
                held += holds
                # Four standard errors, and what late wake-ups may hide on a full host.
                if abs(found - true) > 2.05 * max(low, high) + 1.2 * late + 0.3:
                    outside.append((seed, name, found, true))
            assert samples > 50, "only %d samples" % samples
    for kind, differences in sorted(signed.items()):
        print("%-10s found - true: %+.3f points on average, of %d" % (kind, sum(differences) / len(differences), len(differences)))
    print("mean error %.2f points, largest %.2f; %d of %d intervals hold (%.1f %%)" % (
        sum(errors) / len(errors), max(errors), held, intervals, 100 * held / intervals))
    if unseen:
        print("%d functions were in no sample: the longest took %.2f %% of the idle time" % (len(unseen), max(unseen)))
    for each in outside:
        print("outside: seed %d, %s: found %.2f %%, true %.2f %%" % each)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
