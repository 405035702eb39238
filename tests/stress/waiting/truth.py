"""Programs with known truth: functions burn random times between launches, and `tilescope show FILE waiting` must find them.

Each layout has other functions and other times. The program notes how long each function really took. The GPU is the
one of tests/fakes/fake_cupti_library.cpp, which is idle except for a microsecond after each launch.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HEAD = """import ctypes, hashlib, json, os, queue, sys, threading, time
cupti = ctypes.CDLL(os.environ["FAKE_CUPTI_LIBRARY"], ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
import cupy
clock = time.monotonic_ns
truth = {}
kernel = b"kernel"
def launch():
    cupti.fakeLaunch(kernel)
def note(name, start):
    truth[name] = truth.get(name, 0) + clock() - start
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

# What a function does for about `us` microseconds.
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


def layout(seed):
    """A random program and the names of its functions."""
    rng = random.Random(seed)
    functions = []
    text = HEAD
    for i in range(rng.randint(3, 7)):
        kind = rng.choice(sorted(BODIES))
        name = "%s_%d" % (kind, i)
        ns = int(math.exp(rng.uniform(math.log(30e3), math.log(2e6))))
        launches = rng.choice((0, 1, 1, 3))
        functions.append(name)
        text += "def %s():\n    start = clock()\n%s    note('%s', start)\n" % (name, BODIES[kind].format(ns=ns), name)
        text += "    launch()\n" * launches
    order = functions + [rng.choice(functions) for _ in range(rng.randint(0, 3))]
    rng.shuffle(order)
    text += "def step():\n" + "".join("    %s()\n" % name for name in order) + "    launch()\n"
    text += ("until = time.monotonic() + float(sys.argv[1])\nlaunch()\nwhile time.monotonic() < until: step()\n"
             "json.dump(truth, open(sys.argv[2], 'w'))\n")
    return text, functions



def measure(options, seed, folder):
    """Records one layout. Returns pairs of found and true shares, in percent, with their 95 % intervals, and figures."""
    text, functions = layout(seed)
    (folder / "cupy.py").write_text("")
    script = folder / "program.py"
    script.write_text(text)
    file, truth_file = folder / ("%d.tscope" % seed), folder / "truth.json"
    environment = dict(os.environ, FAKE_CUPTI_LIBRARY=options.cupti)
    subprocess.run([options.tilescope, "record", "--host-samples", str(options.rate), "--counter-interval", "0", "-o",
                    str(file), "--", options.python, str(script), str(options.seconds), str(truth_file)], check=True,
                   env=environment, stdout=subprocess.DEVNULL)
    rows = json.loads(subprocess.run([options.tilescope, "show", str(file), "waiting", "--group", "line", "--format", "json"],
                                     check=True, capture_output=True, text=True).stdout)
    truth = json.loads(truth_file.read_text())
    # The lines of each function, of those in it as well, by the text.
    of_line, current = {}, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("def "):
            current = line[4:line.index("(")]
        of_line[number] = current
    found, low, high = {}, {}, {}
    samples = sum(row["samples"] or 0 for row in rows)
    idle = sum(row["idle_ns"] for row in rows)
    for row in rows:
        name = of_line.get(row["line"]) if row["file"] and row["file"].endswith("program.py") else None
        if name in functions:
            found[name] = found.get(name, 0) + row["idle_ns"]
            if row["interval_ns"]:
                below, above = row["idle_ns"] - row["interval_ns"][0], row["interval_ns"][1] - row["idle_ns"]
                low[name] = math.hypot(low.get(name, 0), below)
                high[name] = math.hypot(high.get(name, 0), above)
    sums = json.loads(subprocess.run([options.tilescope, "show", str(file), "waiting", "--group", "cause", "--format",
                                      "json"], check=True, capture_output=True, text=True).stdout)
    assert sum(row["idle_ns"] for row in sums) == idle, "the sum over causes differs from that over lines"
    environment_rows = json.loads(subprocess.run(
        [options.tilescope, "show", str(file), "environment", "--format", "json"], check=True, capture_output=True,
        text=True).stdout)
    said = next((row["value"] for row in environment_rows if row["key"] == "record.host_samples"), "")
    file.unlink()
    pairs = [(name, 100 * found.get(name, 0) / idle, 100 * truth[name] / idle, 100 * low.get(name, 0) / idle,
              100 * high.get(name, 0) / idle) for name in functions]
    return pairs, samples, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--cupti", required=True, help="libcupti.so.13 of tests/fakes")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--layouts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    errors, held, intervals, outside = [], 0, 0, []
    print("seed  function        found %   true %   samples of the layout")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.layouts):
            pairs, samples, said = measure(options, seed, pathlib.Path(folder))
            print("%4d  %d samples; %s" % (seed, samples, said))
            late = float(said.split(" stacks, ")[1].split(", ")[1].split(" %")[0]) if " stacks, " in said else 100.0
            for name, found, true, low, high in pairs:
                print("      %-14s %8.2f %8.2f   -%.2f +%.2f" % (name, found, true, low, high))
                errors.append(abs(found - true))
                intervals += 1
                held += found - low <= true <= found + high
                # Four standard errors, and what late wake-ups may hide on a full host.
                if abs(found - true) > 2.05 * max(low, high) + 1.2 * late + 0.3:
                    outside.append((seed, name, found, true))
            assert samples > 50, "only %d samples" % samples
    print("mean error %.2f points, largest %.2f; %d of %d intervals hold" % (sum(errors) / len(errors), max(errors), held,
                                                                          intervals))
    for each in outside:
        print("outside: seed %d, %s: found %.2f %%, true %.2f %%" % each)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
