#!/usr/bin/env python3
"""Records programs on a GPU: what each recording holds, how it compares with torch.profiler, and what recording costs.

usage: run.py --tilescope PROGRAM [--only PARTS] [--pairs N] [--sets N] [--cores LIST] [--keep FOLDER] [--before PROGRAM]
              [--alone LIBRARY [--attributes "WORDS WORDS …"]] [--observer LIBRARY] [-o FILE]

PARTS are words of truth, programs, torchrun, cost, autocast, graphs, calibrate, startup, own, joined by commas. Prints a table for each and last one JSON line.

truth     kernels and GPU time of train.py under torch.profiler and under record, medians of five runs
programs  a table of kernels, ranges, cost and losses of programs of several frameworks
torchrun  the same of a program with two ranks, each with its own GPU if there are two
cost      the step of train.py with each option of record, relative to the bare step
autocast  the same of train.py with parameters in fp32, autocast and two data-loader workers
graphs    replays of a CUDA graph, each node or the replay as a whole recorded
calibrate the cost that `record --calibrate` measures: recorded and bare steps of one process
startup   from the start of train.py to its first step, bare and recorded
own       what `tilescope run` says of its own tracing of bf16 steps, medians of several runs

A pair of the cost is a short block of steps of a recorded process and one of a bare process right after or before it, on the same
cores, so that what other programs do to this machine changes both. The processes of all variants start together and then take
turns; after some pairs they end and new ones start. Ratios are medians over the pairs with their 95 % interval (order statistics).
The first are of the median steps, the second of the fastest steps, which other load of the machine changes less, the third of the
processor time of the program's threads. A pair of bare blocks stands beside them: its interval is what the machine can resolve.

Further variants of the cost show where it comes from: --alone names cupti_alone.cpp of tests/bench/record as a library, once with each
word of --attributes; --observer names observer_alone.cpp; --before another build of tilescope.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TRAIN = [sys.executable, str(HERE / "train.py")]


@dataclasses.dataclass
class Variant:
    """How a program is run."""
    options: list | None = None  # of record; None: without record
    tilescope: str = ""  # another build than the session's
    environment: dict = dataclasses.field(default_factory=dict)
    through: list = dataclasses.field(default_factory=list)  # a Python script with arguments that runs the program's


# `stopped` records three steps of the warm-up and nothing of the steps that count.
VARIANTS = {"bare": Variant(),
            "kernels": Variant(["--no-modules", "--no-memory"]),
            "modules": Variant(["--no-memory"]),
            "memory": Variant([]),
            "ops": Variant(["--ops"]),
            "no stacks": Variant(["--host-samples", "off"]),
            "stopped": Variant(["--steps", "0:2"])}
# Quantiles 0.975 of Student's t by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
           11: 2.201, 12: 2.179, 14: 2.145, 16: 2.120, 19: 2.093, 24: 2.064, 29: 2.045, 39: 2.023}


def interval(ratios):
    """The geometric mean of ratios with the ends of its 95 % interval."""
    logarithms = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logarithms)
    if len(logarithms) < 2:
        return [math.exp(mean), 0, math.inf]
    freedom = len(logarithms) - 1
    quantile = STUDENT[max(known for known in STUDENT if known <= freedom)]
    half = quantile * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return [round(math.exp(value), 4) for value in (mean, mean - half, mean + half)]


def median_interval(ratios):
    """The median with the order statistics that enclose it with a probability of at least 95 %."""
    ordered = sorted(ratios)
    count = len(ordered)
    # Of `count` values, fewer than `below` + 1 lie below the median with a probability of at most 2.5 %.
    below, tail = -1, 0.0
    while below + 1 < count // 2 and tail + math.comb(count, below + 1) / 2 ** count <= 0.025:
        below += 1
        tail += math.comb(count, below) / 2 ** count
    low, high = (ordered[below], ordered[count - 1 - below]) if below >= 0 else (0.0, math.inf)
    return [round(value, 4) for value in (statistics.median(ordered), low, high)]


def describe_host():
    """How busy the machine is: its load, the time that its host gave to others, and how evenly a loop runs."""
    def processor_times():
        return [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]

    before = processor_times()
    times = []
    for _ in range(300):
        start = time.perf_counter()
        for _ in range(20000):
            pass
        times.append(time.perf_counter() - start)
    spent = [after - first for after, first in zip(processor_times(), before)]
    times.sort()
    report = {"cores": os.cpu_count(), "load": pathlib.Path("/proc/loadavg").read_text().split()[:3],
              "stolen_percent": round(100 * spent[7] / max(1, sum(spent)), 2),
              "loop_us": [round(1e6 * times[i], 1) for i in (0, len(times) // 2, 9 * len(times) // 10)]}
    print("host:", json.dumps(report), flush=True)
    return report


class Process:
    """A program with --turns, bare or under record."""

    def __init__(self, session, command, variant):
        self.file = None
        self.started = time.monotonic()
        words = [command[0], *variant.through, *command[1:], "--turns"] if command[0] == sys.executable else command
        if variant.options is not None:
            words = session.record_command(self, words, variant)
        if session.cores:
            words = ["taskset", "-c", session.cores, *words]
        environment = session.environment | variant.environment
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(words, cwd=session.folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def wait_until_ready(self):
        """Seconds from the start to the end of the warm-up."""
        for line in self.process.stdout:
            if line.startswith("ready"):
                return time.monotonic() - self.started
        self.errors.seek(0)
        raise RuntimeError(self.errors.read()[-3000:])

    def turn(self):
        """What the program prints of a block."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        """The exit status; what the program printed last is in `last`."""
        self.process.stdin.close()
        self.last = self.process.stdout.read()
        status = self.process.wait()
        if status != 0:
            self.errors.seek(0)
            print("exit status", status, self.errors.read()[-3000:], flush=True)
        return status


class Session:
    def __init__(self, tilescope, folder, cores=""):
        self.tilescope = tilescope
        self.cores = cores
        self.folder = pathlib.Path(folder)
        self.count = 0
        self.environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")

    def record_command(self, process, words, variant):
        self.count += 1
        process.file = self.folder / f"{self.count}.tscope"
        return [variant.tilescope or self.tilescope, "record", "-o", str(process.file), *variant.options, "--", *words]

    def run(self, command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=240, check=False)

    def show(self, file, *what):
        result = self.run([self.tilescope, "show", str(file), *what, "--format", "json"])
        return json.loads(result.stdout) if result.returncode == 0 else []

    def losses(self, file):
        return [[loss["kind"], loss["count"]] for loss in self.show(file, "losses")]

    @contextlib.contextmanager
    def all_of(self, processes):
        """Ends the processes, whose recordings are written at the same time."""
        try:
            yield processes
        finally:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                list(pool.map(Process.end, processes))


def truth(session, batch, runs=5):
    """Kernels and GPU time from CUDA's start to the end of the program. The batch keeps the GPU busy and so at its full clock
    rate: an idle GPU lowers its clocks, and its kernels then vary by tens of percent from run to run."""
    command = [*TRAIN, "--steps", "20", "--batch", str(batch)]
    profiled = [Process(session, [*command, "--profiler"], Variant()) for _ in range(runs)]
    recorded = [Process(session, command, VARIANTS["memory"]) for _ in range(runs)]
    with session.all_of(profiled + recorded):
        for process in profiled + recorded:
            process.wait_until_ready()
        for pair in zip(profiled, recorded):
            for process in pair:
                process.turn()
    theirs = [json.loads(process.last.splitlines()[-1]) for process in profiled]
    ours = []
    for process in recorded:
        counts, total = collections.Counter(), 0
        for row in session.show(process.file, "kernels"):
            if not row["name"].startswith("Mem"):
                counts[row["name"]] += row["instances"]
                total += row["total_ns"]
        ours.append((counts, total))
    differing = {}
    for (counts, _), other in zip(ours, theirs):
        for name in {*counts, *other["kernels"]}:
            if counts[name] != other["kernels"].get(name, 0):
                differing[name] = [counts[name], other["kernels"].get(name, 0)]
    report = {"batch": batch, "runs": runs, "kernels": [sum(counts.values()) for counts, _ in ours],
              "torch.profiler": [sum(one["kernels"].values()) for one in theirs],
              "names": len(ours[0][0]), "differing": differing,
              "gpu_ms": [round(total / 1e6, 3) for _, total in ours],
              "torch.profiler_gpu_ms": [round(one["kernel_ns"] / 1e6, 3) for one in theirs],
              "gpu_time_ratio": round(statistics.median(total for _, total in ours)
                                      / statistics.median(one["kernel_ns"] for one in theirs), 5)}
    print("truth:", json.dumps(report), flush=True)
    return report


def programs(session, keep):
    python = sys.executable
    script = str(HERE / "programs.py")
    commands = {"PyTorch": [*TRAIN, "--steps", "20"],
                "transformers": [python, script, "transformers"],
                "JAX": [python, script, "jax"],
                "CuPy": [python, script, "cupy"],
                "Triton": [python, script, "triton"]}
    binary = session.folder / "vector_add"
    built = session.run(["nvcc", "-o", str(binary), str(HERE / "vector_add.cu")])
    if built.returncode == 0:
        commands["CUDA C++"] = [str(binary)]
    else:
        print(built.stderr)
    pairs = {name: (Process(session, command, Variant()), Process(session, command, VARIANTS["memory"]))
             for name, command in commands.items()}
    times = collections.defaultdict(list)
    with session.all_of([process for pair in pairs.values() for process in pair]):
        for name, pair in pairs.items():
            for process in pair:
                process.wait_until_ready()
        for name, (bare, recorded) in pairs.items():
            for _ in range(5):
                times[name].append([process.turn()["step_ms"] for process in (bare, recorded)])
    rows = {}
    for name, (_, recorded) in pairs.items():
        rows[name] = row_of(session, recorded.file, recorded.process.returncode)
        rows[name]["step_ms"] = [round(statistics.median(column), 4) for column in zip(*times[name])]
        rows[name]["ratio"] = interval([recorded / bare for bare, recorded in times[name]])
        print(f"{name:14} {rows[name]}", flush=True)
        if keep:
            shutil.copy(recorded.file, keep / f"{name.replace('+', 'p').replace(' ', '-')}.tscope")
    return rows


def row_of(session, file, status):
    kernels = session.show(file, "kernels")
    return {"exit": status, "kernels": sum(row["instances"] for row in kernels), "names": len(kernels),
            "ranges": len(session.show(file, "ranges")), "steps": len(session.show(file, "steps")),
            "losses": session.losses(file)}


def torchrun(session, script, keep):
    ranks = 2
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", script, "ddp", "--steps", "40"]
    times = {"bare": [], "recorded": []}
    file = session.folder / "torchrun.tscope"
    status = 0
    for turn in range(2):
        for name in ("bare", "recorded") if turn % 2 == 0 else ("recorded", "bare"):
            file.unlink(missing_ok=True) if name == "recorded" else None
            words = command if name == "bare" else [session.tilescope, "record", "-o", str(file), "--", *command]
            ran = session.run(words)
            status = status or ran.returncode
            steps = [json.loads(line)["step_ms"] for line in ran.stdout.splitlines() if line.startswith("{")]
            times[name].append(max(steps, default=math.nan))
            if ran.returncode != 0 or not steps:
                print(ran.stdout[-1000:], ran.stderr[-3000:], flush=True)
    row = row_of(session, file, status)
    row["step_ms"] = times
    row["ratio"] = interval([ours / bare for ours, bare in zip(times["recorded"], times["bare"])])
    print(f"{'torchrun':14} {row}", flush=True)
    for rank in map(str, range(ranks)):
        print(f"rank {rank}:\n" + "\n".join(session.run(
            [session.tilescope, "show", str(file), "kernels", "--rank", rank]).stdout.splitlines()[:12]), flush=True)
    print("\n".join(session.run([session.tilescope, "show", str(file), "ranks"]).stdout.splitlines()[:12]), flush=True)
    if keep:
        shutil.copy(file, keep / "torchrun.tscope")
    return row


def cost(session, command, pairs, sets, variants):
    steps = collections.defaultdict(list)
    ratios = {figure: collections.defaultdict(list) for figure in ("step_ms", "quiet_ms", "own_ms")}
    recorder = collections.defaultdict(list)
    threads = collections.defaultdict(lambda: collections.defaultdict(list))
    losses = collections.Counter()
    names = ["bare again", *variants]
    for number in range(sets):
        processes = {name: Process(session, command, variants.get(name, VARIANTS["bare"])) for name in ["bare", *names]}
        with session.all_of(list(processes.values())):
            for process in processes.values():
                process.wait_until_ready()
            for pair in range(pairs // sets):
                order = names[pair % len(names):] + names[:pair % len(names)]
                for name in order:
                    turn = ("bare", name) if pair % 2 == 0 else (name, "bare")
                    block = {which: processes[which].turn() for which in turn}
                    for figure, found in ratios.items():
                        if block["bare"].get(figure):
                            found[name].append(block[name][figure] / block["bare"][figure])
                    recorder[name].append(block[name].get("recorder_ms", 0))
                    for which, figures in block.items():
                        steps[which].append(figures["step_ms"])
                        for thread, spent in (figures.get("threads_ms", {}) | figures.get("counts", {})).items():
                            threads[which][thread].append(spent)
        for name in variants:
            if processes[name].file:
                for kind, count in session.losses(processes[name].file):
                    losses[f"{name}: {kind}"] += count
                if number + 1 < sets:
                    processes[name].file.unlink(missing_ok=True)
    report = {"pairs": pairs // sets * sets, "sets": sets, "cores": session.cores, "losses": losses,
              "ratios": {name: median_interval(ratios["step_ms"][name]) for name in names},
              "quiet_ratios": {name: median_interval(ratios["quiet_ms"][name]) for name in names},
              "own_ratios": {name: median_interval(ratios["own_ms"][name]) for name in names if ratios["own_ms"][name]},
              "recorder_ms": {name: round(statistics.median(recorder[name]), 4) for name in names},
              "step_ms": {name: round(statistics.median(values), 3) for name, values in steps.items()},
              # Threads that few blocks have are 0 in the others.
              "threads_ms": {name: {thread: round(sum(values) / len(steps[name]), 3) for thread, values in found.items()}
                             for name, found in threads.items()},
              "bare_ms": [round(value, 2) for value in statistics.quantiles(steps["bare"], n=10)]}
    for name in names:
        texts = ["%.4f [%.4f, %.4f]" % tuple(report[kind].get(name, [math.nan] * 3)) for kind in ("ratios", "quiet_ratios", "own_ratios")]
        print(f"{name:10} {texts[0]}  fastest steps {texts[1]}  processor time {texts[2]}  {report['step_ms'][name]:.3f} ms, "
              f"bare {report['step_ms']['bare']:.3f}, recorder's threads {report['recorder_ms'][name]:.3f}", flush=True)
    for name, found in report["threads_ms"].items():
        most = [f"{thread} {spent:g}" for thread, spent in sorted(found.items(), key=lambda each: -each[1]) if spent >= 0.01]
        print(f"{name:10} processor time of threads (ms), page faults and switches of a step: {', '.join(most)}", flush=True)
    print("bare steps, deciles:", report["bare_ms"], "losses:", dict(losses), flush=True)
    return report


def graphs(session, pairs, sets):
    command = [sys.executable, str(HERE / "graphs.py")]
    report = cost(session, command, pairs, sets, {"node": Variant([]), "graph": Variant(["--graphs", "graph"])})
    for name, options in {"node": [], "graph": ["--graphs", "graph"]}.items():
        file = session.folder / f"graph-{name}.tscope"
        session.run([session.tilescope, "record", "-o", str(file), *options, "--", *command])
        kernels = session.show(file, "kernels")
        facts = {fact["key"]: fact["value"] for fact in session.show(file, "environment") if fact["key"].startswith("record.graph")}
        modules = session.run([session.tilescope, "sql", str(file), "select p.text, count(*) from kernel k join string p on p.id = k.path"
                               " group by 1 order by 2 desc limit 6"]).stdout
        report[name] = {"kernels": sum(row["instances"] for row in kernels), "names": len(kernels), "losses": session.losses(file),
                        "whole": [[row["name"], row["instances"]] for row in kernels if row["name"].startswith("CUDA graph")],
                        "facts": {key: value[:400] for key, value in facts.items()}}
        print(name, json.dumps(report[name]), modules, sep="\n", flush=True)
    return report


def own(session, before, runs=3):
    """The builds take turns."""
    ratios = collections.defaultdict(list)
    programs = {"": session.tilescope} | ({"before: ": before} if before else {})
    for number in range(runs):
        for precision, trace in (("bf16", "kernels"), ("bf16", "full"), ("fp32", "full")):
            for name, program in programs.items():
                file = session.folder / f"own-{number}-{precision}-{trace}-{len(name)}.tscope"
                done = session.run([program, "run", "lm", "--device", "cuda", "--size", "small", "--mode", "both", "--precision", precision,
                                    "--trace", trace, "--steps", "30", "--trace-steps", "6", "-o", str(file)])
                if done.returncode != 0:
                    raise RuntimeError(done.stderr[-1000:])
                ratios[f"{name}{precision} {trace}"] += [round(run["trace_overhead"], 4) for run in session.show(file, "runs")]
    report = {name: median_interval(values) + [sorted(values)] for name, values in ratios.items()}
    for name, value in report.items():
        print("own", name, value, flush=True)
    return report


def calibrate(session, variants, runs=3):
    """Ten steps come first; a pair has two blocks of seven."""
    processes = {name: [Process(session, [*TRAIN, "--steps", "300", "--warm-up", "0"], Variant(["--calibrate", *VARIANTS[name].options]))
                        for _ in range(runs)]
                 for name in variants if name in VARIANTS and name != "stopped"}
    with session.all_of([process for group in processes.values() for process in group]):
        for group in processes.values():
            for process in group:
                process.wait_until_ready()
        for turn in range(runs):
            for group in processes.values():
                group[turn].turn()
    report = {}
    for name, group in processes.items():
        facts = [fact["value"] for process in group for fact in session.show(process.file, "environment")
                 if fact["key"] == "record.cost"]
        report[name] = facts
        print(f"{name:18}", *facts, sep="\n    ", flush=True)
    return report


def startup(session, pairs=5):
    """Of pairs that start at the same time."""
    command = [*TRAIN, "--warm-up", "1", "--steps", "1"]
    differences = []
    for _ in range(pairs):
        both = [Process(session, command, VARIANTS[name]) for name in ("bare", "memory")]
        with session.all_of(both), concurrent.futures.ThreadPoolExecutor() as pool:
            bare, recorded = pool.map(Process.wait_until_ready, both)
        differences.append(recorded - bare)
    report = {"seconds": [round(value, 3) for value in differences], "median": round(statistics.median(differences), 3)}
    print("startup:", json.dumps(report), flush=True)
    return report


def wanted_variants(options):
    wanted = {name: VARIANTS[name] for name in options.variants.split(",") if name}
    if options.before:
        for name in [name for name in ("memory", "ops") if name in wanted]:
            wanted[name + ", before"] = Variant(VARIANTS[name].options, tilescope=os.path.abspath(options.before))
    if options.alone:
        environment = {"CUDA_INJECTION64_PATH": str(options.alone.resolve())}
        wanted["CUPTI"] = Variant(environment=environment)
        for words in options.attributes.split():
            wanted["CUPTI " + words] = Variant(environment=environment | {"CUPTI_ALONE": words})
    if options.observer:
        script = [str(HERE.parents[1] / "bench/record/observed.py"), str(options.observer.resolve())]
        wanted["observed"] = Variant(through=[*script, "0", "1"])
        wanted["observed, inputs"] = Variant(through=[*script, "1", "1"])
        wanted["observed, inputs, no views"] = Variant(through=[*script, "1", "0"])
    return wanted


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilescope", required=True)
    options.add_argument("--only", default="truth,programs,torchrun,cost,autocast,graphs,calibrate,startup,own")
    options.add_argument("--pairs", type=int, default=40)
    options.add_argument("--sets", type=int, default=4, help="sets of processes that the pairs are divided among")
    options.add_argument("--variants", default=",".join(name for name in VARIANTS if name != "bare"))
    options.add_argument("--before", default="", help="tilescope of another build")
    options.add_argument("--alone", type=pathlib.Path, help="cupti_alone.cpp of tests/bench/record as a library")
    options.add_argument("--attributes", default="", help="settings of that library, each a further variant")
    options.add_argument("--observer", type=pathlib.Path, help="observer_alone.cpp of tests/bench/record as a library")
    options.add_argument("-o", "--output", type=pathlib.Path, help="file for the report, written after each part")
    options.add_argument("--cores", default="", help="cores for the programs that are measured, as taskset takes them: 2-7")
    options.add_argument("--keep", type=pathlib.Path, help="folder for the recordings of the programs")
    options = options.parse_args()
    parts = options.only.split(",")
    report = {}
    with tempfile.TemporaryDirectory() as folder:
        session = Session(os.path.abspath(options.tilescope), folder, options.cores)
        report["host"] = describe_host()
        short = ["--steps", "5", "--warm-up", "30"]
        wanted = wanted_variants(options)
        for part, measure in {"truth": lambda: [truth(session, batch) for batch in (4, 64)],
                              "programs": lambda: programs(session, options.keep),
                              "torchrun": lambda: torchrun(session, str(HERE / "programs.py"), options.keep),
                              "cost": lambda: cost(session, [*TRAIN, *short], options.pairs, options.sets, wanted),
                              "autocast": lambda: cost(session, [*TRAIN, *short, "--autocast", "--workers", "2"], options.pairs,
                                                       options.sets, wanted),
                              "graphs": lambda: graphs(session, options.pairs // 2, max(1, options.sets // 2)),
                              "calibrate": lambda: calibrate(session, options.variants.split(",")),
                              "startup": lambda: startup(session),
                              "own": lambda: own(session, options.before)}.items():
            if part in parts:
                started = time.monotonic()
                print(f"--- {part}", flush=True)
                try:
                    report[part] = measure()
                except Exception as error:  # the other parts are worth their device time
                    print(f"{part} failed: {error!r}", flush=True)
                print(f"--- {part} took {time.monotonic() - started:.0f} s", flush=True)
                if options.output:
                    options.output.write_text(json.dumps(report))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
