#!/usr/bin/env python3
"""Where the processor time of a step of train.py goes, bare and recorded: by library and by function.

usage: where.py --tilescope PROGRAM [--variants NAMES] [--sets N] [--rounds N] [--steps N] [--hertz N] [--alone LIBRARY] [-o FILE]

Processes of all variants are alive at the same time and make blocks of steps by turns. A sampler (tests/bench/record/thread_samples.cpp,
which this script compiles) looks N times a second where each thread of the process that has its turn is. Each set starts all processes
anew, because processes of the same program differ by more than what is looked for: "bare again" shows by how much.

The samples are divided into code that no recorder changes, which takes longer only if recording disturbs it or the machine does, and code
that recording adds or lengthens: CUPTI, the CUDA driver, Tilescope, its plug-in, the clock and the kernel. The second part is what recording
costs on any machine as quiet as one likes. Prints both in ms of a step with the standard error over the blocks, the ratios to the bare
process of the same round with their 95 % interval, and what each variant takes more than bare, by library. FILE gets the same by function.

Variants: those of run.py's cost, and with --alone "CUPTI", CUPTI with the recorder's settings whose records nobody reads
(tests/bench/record/cupti_alone.cpp as a library).
"""

import argparse
import bisect
import collections
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

import run

SAMPLER = pathlib.Path(__file__).resolve().parents[2] / "bench/record/thread_samples.cpp"
ADDED = ("libcupti", "libtilescope", "tilescope_torch", "[vdso]", "[kernel]", "libcuda.so")
KINDS = ("unchanged", "added", "program", "recorder")
FARTHEST = 20000  # bytes from a symbol: beyond it, the function has none


class Symbols:
    """Names of functions by file and offset."""

    def __init__(self):
        self._files = {}

    def _read(self, file):
        def lines(*words):
            return subprocess.run([*words, file], capture_output=True, text=True, errors="replace", check=False).stdout.splitlines()

        loads = [[int(word, 16) for word in line.split()[1:3]] for line in lines("readelf", "-lW") if line.split()[:1] == ["LOAD"]]
        found = {}
        for line in lines("nm", "-C", "--defined-only") + lines("nm", "-D", "-C", "--defined-only"):
            words = line.split(None, 2)
            if len(words) == 3 and words[1] in "tTwWiu":
                found[int(words[0], 16)] = words[2]
        return sorted(found), found, loads

    def name(self, file, offset):
        if file.startswith("["):
            return file
        if file not in self._files:
            self._files[file] = self._read(file)
        order, found, loads = self._files[file]
        start, address = max((load for load in loads if load[0] <= offset), default=(0, 0))
        at = offset - start + address
        before = bisect.bisect(order, at) - 1
        if before >= 0 and at - order[before] < FARTHEST:
            return os.path.basename(file) + ":" + found[order[before]]
        return "%s:%x" % (os.path.basename(file), at // 4096 * 4096)


class Samples:
    """What the blocks of a variant took, in ms of a step."""

    def __init__(self):
        self.blocks = []
        self.libraries, self.functions, self.threads = collections.Counter(), collections.Counter(), collections.Counter()

    def add(self, text, each, symbols):
        block = collections.Counter()
        for line in text.splitlines():
            thread, file, offset = line.split("\t")
            name = os.path.basename(file)
            who = "recorder" if thread.startswith("tilescope") else "program"
            self.libraries[who, name] += each
            self.functions[who, symbols.name(file, int(offset, 16))] += each
            self.threads[thread] += each
            block[who] += each
            if who == "program":
                block["added" if name.startswith(ADDED) else "unchanged"] += each
        self.blocks.append(block)

    def mean(self, counter):
        return {key: value / len(self.blocks) for key, value in counter.items()}


def block(process, sampler, hertz):
    """Lets a process make a block of steps, and returns what it prints of it and the samples."""
    with tempfile.TemporaryFile("w+") as text:
        sampling = subprocess.Popen([sampler, str(process.number), str(hertz)], stdout=text)
        time.sleep(0.1)
        figures = process.turn()
        sampling.send_signal(signal.SIGINT)
        if sampling.wait() != 0:
            raise SystemExit("the threads could not be sampled")
        text.seek(0)
        return figures, text.read()


def table(counters, bare, names, most):
    """Rows of what each variant takes more than bare, largest first."""
    keys = set().union(*counters.values())
    keys = sorted(keys, key=lambda key: -max(abs(counters[name].get(key, 0) - counters[bare].get(key, 0)) for name in names))
    yield "%-9s %-70s %8s" % ("", "", bare) + "".join(" %11s" % name for name in names)
    for key in keys[:most]:
        first = counters[bare].get(key, 0)
        yield "%-9s %-70s %8.3f" % (key[0], key[1][:70], first) + "".join(" %+11.3f" % (counters[name].get(key, 0) - first) for name in names)


def report(samples, output):
    bare = samples["bare"]
    for name, each in samples.items():
        texts = []
        for kind in KINDS:
            values = [one[kind] for one in each.blocks]
            error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
            text = "%s %.3f (%.3f)" % (kind, statistics.fmean(values), error)
            ratios = [one[kind] / other[kind] for one, other in zip(each.blocks, bare.blocks) if other[kind]]
            if kind in ("unchanged", "program") and ratios:
                text += " %.3f [%.3f, %.3f]" % tuple(run.median_interval(ratios))
            texts.append(text)
        print("%-12s" % name, "  ".join(texts), flush=True)
        print("%-12s" % "", "threads:", {thread: round(spent, 3) for thread, spent in collections.Counter(each.mean(each.threads)).most_common(6)})
    names = [name for name in samples if name != "bare"]
    libraries = {name: each.mean(each.libraries) for name, each in samples.items()}
    print("\n".join(table(libraries, "bare", names, 20)), flush=True)
    if output:
        functions = {name: each.mean(each.functions) for name, each in samples.items()}
        output.write_text("\n".join(table(functions, "bare", names, 400)) + "\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilescope", required=True)
    options.add_argument("--variants", default="bare again,memory,no stacks")
    options.add_argument("--sets", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5, help="of each set")
    options.add_argument("--steps", type=int, default=30, help="of a block")
    options.add_argument("--hertz", type=int, default=2500)
    options.add_argument("--alone", type=pathlib.Path, help="cupti_alone.cpp as a library")
    options.add_argument("-o", "--output", type=pathlib.Path, help="file for the table of functions")
    options = options.parse_args()
    variants = {"bare": run.Variant()}
    known = run.VARIANTS | {"bare again": run.Variant()}
    if options.alone:
        known["CUPTI"] = run.Variant(environment={"CUDA_INJECTION64_PATH": str(options.alone.resolve()), "CUPTI_ALONE": "recorder"})
    for name in options.variants.split(","):
        if name not in known:
            raise SystemExit("there is no variant '%s'; there are %s" % (name, ", ".join(known)))
        variants[name] = known[name]
    with tempfile.TemporaryDirectory() as folder:
        sampler = os.path.join(folder, "thread_samples")
        subprocess.run(["c++", "-std=c++20", "-O2", "-o", sampler, str(SAMPLER)], check=True)
        session = run.Session(os.path.abspath(options.tilescope), folder)
        run.describe_host()
        samples = {name: Samples() for name in variants}
        walls = collections.defaultdict(list)
        symbols = Symbols()
        command = [*run.TRAIN, "--steps", str(options.steps), "--warm-up", "15"]
        for _ in range(options.sets):
            processes = {name: run.Process(session, command, variant) for name, variant in variants.items()}
            with session.all_of(list(processes.values())):
                for process in processes.values():
                    process.wait_until_ready()
                    process.number = process.turn()["process"]
                texts = []
                for number in range(options.rounds):
                    order = list(processes)
                    order = order[number % len(order):] + order[:number % len(order)]
                    for name in order:
                        figures, text = block(processes[name], sampler, options.hertz)
                        walls[name].append(figures["step_ms"])
                        texts.append((name, text))
            for name, text in texts:
                # A block has one step more than are timed.
                samples[name].add(text, 1000 / options.hertz / (options.steps + 1), symbols)
    print("step, ms:", json.dumps({name: round(statistics.median(walls[name]), 3) for name in variants}))
    report(samples, options.output)


if __name__ == "__main__":
    main()
