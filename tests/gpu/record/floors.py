#!/usr/bin/env python3
"""What recording adds to the step of a small eager bf16 language model (train.py), and what CUPTI and PyTorch's notifications alone add.

usage: floors.py --tilescope PROGRAM [--alone LIBRARY] [--observer LIBRARY] [--settings "WORDS WORDS …"] [--only VARIANTS] [--seconds N] [--rounds N]
                 [--device cuda|cpu] [--json FILE]

Everything is measured in one process, because processes differ by more than what is looked for. It runs under `tilescope record`, whose
parts are switched on and off between blocks of steps. A pair is a block with a variant and a bare block right before or after it, at random;
a round has a pair of each variant, in random order. Ratios are of the median steps of a pair: the median over the rounds with its 95 %
interval (order statistics). Each step ends with a wait for the GPU. After each block CUPTI has left the process.

bare        a bare block again: its interval is what the machine can resolve
CUPTI       CUPTI records what the recorder has it record, with a callback at each launch that does nothing, and nobody reads the records
            (--alone, the target cupti_alone)
listener    PyTorch notifies a listener that does nothing of each operator but views, with its inputs (--observer, the target observer_alone)
kernels     record --no-modules --no-memory
modules     record --no-memory
memory      record
ops         record --ops
no stacks   after one of these: --host-samples off; memory no stacks

Memory and ops are measured in rounds of their own, as the tracker of PyTorch's allocator cannot be removed. What it takes while nothing is
recorded is measured apart (`tracker_us`) and part of the ratios of memory and ops. --settings adds CUPTI with other settings of
cupti_alone.cpp. "above CUPTI" is the difference of two ratios of one round. "processor" is the ratio of the processor time of the program's threads;
"recorder" is that of the recorder's threads in ms of a step, and the program's page faults follow, with the variant and bare.

With --seconds, rounds go on until about that time has passed since the start, 20 at least. The last line is JSON; --json FILE has it after
each round. --device cpu checks the script without a GPU, with a smaller model.
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import types

from run import describe_host, median_interval
from turns import read_threads, taken

STEPS = 7
SETTLING = 3
LEAST_ROUNDS = 20
# Shares of the time: rounds of the first variants, of memory, of ops.
GROUPS = (("CUPTI", "listener", "kernels", "kernels no stacks", "modules"), ("CUPTI", "memory", "memory no stacks"),
          ("CUPTI", "listener", "ops"))
SHARES = (0.5, 0.2, 0.3)


class Parts:
    """What `tilescope record` does in this process, part by part."""

    def __init__(self, torch):
        import _tilescope_recorder as bootstrap

        self._torch = torch
        self._bootstrap = bootstrap
        self._recorder = bootstrap.recorder()
        self._plugin = None
        hooks = sys.modules[torch.optim.Optimizer.__module__]
        self._hooks = (hooks._global_optimizer_pre_hooks, hooks._global_optimizer_post_hooks)
        self._kept_hooks = [dict(table) for table in self._hooks]
        # The bootstrap watches this function; a copy of it is not watched.
        self._watched = torch.nn.Module._call_impl
        self._plain = types.FunctionType(self._watched.__code__, self._watched.__globals__, self._watched.__name__,
                                         self._watched.__defaults__, self._watched.__closure__)
        self._watched_backward = torch.autograd.backward
        self._plain_backward = getattr(torch.autograd.backward, "__wrapped__", torch.autograd.backward)
        self._has_stacks = True
        self.set_python(hooks=False, modules=False)

    def set_python(self, hooks, modules):
        for table, kept in zip(self._hooks, self._kept_hooks):
            table.clear()
            if hooks:
                table.update(kept)
        self._torch.nn.Module._call_impl = self._watched if modules else self._plain
        self._torch.autograd.backward = self._watched_backward if modules else self._plain_backward

    def set_stacks(self, on):
        if on != self._has_stacks:
            (self._recorder.start_stacks if on else self._recorder.stop_stacks)()
        self._has_stacks = on

    def add_memory(self):
        self._plugin = self._bootstrap._Plugin(self._recorder, self._torch)
        self.memory = self._bootstrap._Memory(self._recorder, self._torch, self._plugin, False)

    def add_ops(self):
        self.ops = self._bootstrap._Ops(self._recorder, self._torch, self._plugin)

    def tell(self, verb):
        folder = pathlib.Path(os.environ["XDG_RUNTIME_DIR"]) / "tilescope-record"
        with socket.socket(socket.AF_UNIX) as speaker:
            speaker.settimeout(60)
            speaker.connect(str(folder / ("%s-%d.socket" % (self._bootstrap.option("pid"), os.getpid()))))
            speaker.sendall(b"tilescope record 1 " + verb.encode() + b"\n")
            answer = speaker.recv(256).decode().strip()
        if answer != "ok":
            raise RuntimeError("record --%s: %s" % (verb, answer))


class Bench:
    def __init__(self, options):
        import torch

        self.options = options
        self.torch = torch
        self.alone = ctypes.CDLL(options.alone) if options.alone else None
        self.observer = ctypes.CDLL(options.observer) if options.observer else None
        self.parts = Parts(torch)
        self.step = make_step(torch, options.device)
        self.wait = torch.cuda.synchronize if options.device == "cuda" else lambda: None
        self.started = time.monotonic()
        self.ratios, self.quiet, self.times, self.processor = {}, {}, {}, {}
        self.report = {"device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "torch": torch.__version__,
                       "steps": STEPS, "rounds": {}}
        for _ in range(20):
            self.step()
        self.wait()

    # --- blocks ---

    def switch(self, name, on):
        if name == "bare":
            return
        if name.startswith("CUPTI"):
            settings = name.partition(" ")[2] or "recorder"
            failed = self.alone.start(settings.encode()) if on else self.alone.stop()
            if failed:
                raise RuntimeError("CUPTI's error %d" % failed)
        elif name == "listener":
            self.observer.observe(1, 0) if on else self.observer.ignore()
        elif on:
            self.parts.set_stacks(not name.endswith("no stacks"))
            self.parts.set_python(hooks=True, modules=not name.startswith("kernels"))
            self.parts.tell("start")
        else:
            self.parts.tell("stop")
            self.parts.set_python(hooks=False, modules=False)
            self.let_cupti_leave()

    def let_cupti_leave(self):
        """The recorder asks CUPTI to leave at the next launch after its thread has read the last records."""
        for _ in range(50):
            time.sleep(0.1)
            self.step()
            self.wait()
            if self.alone is None or self.alone.leave() == 0:
                return
        raise RuntimeError("CUPTI stays in the process")

    def block(self, name):
        self.switch(name, True)
        for _ in range(SETTLING):
            self.step()
        self.wait()
        times = []
        before = read_threads()
        for _ in range(STEPS):
            start = time.perf_counter()
            self.step()
            self.wait()
            times.append(time.perf_counter() - start)
        _, own, recorder, counts = taken(before, read_threads())
        self.switch(name, False)
        return sorted(times), own, recorder, counts["faults"]

    def pair(self, name):
        """Notes the times of a variant and those of a bare block beside it."""
        order = ["bare", name]
        random.shuffle(order)
        found = [self.block(which) for which in order]
        (with_it, *with_threads), (bare, *bare_threads) = found[::-1] if order[0] == "bare" else found
        self.processor.setdefault(name, []).append((with_threads, bare_threads))
        self.ratios.setdefault(name, []).append(statistics.median(with_it) / statistics.median(bare))
        self.quiet.setdefault(name, []).append(with_it[0] / bare[0])
        self.times.setdefault(name, []).append((statistics.median(with_it), statistics.median(bare)))

    # --- rounds ---

    def wanted(self, group):
        names = list(GROUPS[group]) + (["CUPTI " + words for words in self.options.settings.split()] if group == 0 else [])
        lacking = {"CUPTI": self.alone, "listener": self.observer}
        only = self.options.only.split(",")
        return [name for name in names if lacking.get(name.split()[0], True) is not None and (not self.options.only or name in only)]

    def run_group(self, group, seconds):
        """Rounds of the variants of a group."""
        names = self.wanted(group)
        # CUPTI and the listener of a later group are compared with its variants only.
        if not set(names) - {"CUPTI", "listener"} and group > 0:
            return
        rounds, until = 0, time.monotonic() + seconds
        least = self.options.rounds or LEAST_ROUNDS
        while rounds < least or (not self.options.rounds and time.monotonic() < until):
            for name in random.sample(["bare", *names], len(names) + 1):
                self.pair(name)
            rounds += 1
            self.write(group, rounds, names)
        for table in (self.ratios, self.quiet, self.times, self.processor):
            table.clear()

    def write(self, group, rounds, names):
        rows = self.report["rounds"].setdefault(str(group), {})
        rows["rounds"] = rounds
        rows["bare_ms"] = round(1000 * statistics.median(bare for pairs in self.times.values() for _, bare in pairs), 4)
        # Ratios of memory and ops are to a step without the tracker, which the bare steps beside them have.
        tracker = 1 + self.report.get("tracker_us", 0) / 1000 / rows["bare_ms"] if group > 0 else 1.0
        variants = {}
        for name in ["bare", *names]:
            factor = tracker if name.split()[0] in ("memory", "ops") else 1.0
            ratios = [ratio * factor for ratio in self.ratios[name]]
            pairs = self.processor[name]
            variants[name] = {"ratio": median_interval(ratios), "fastest": median_interval([each * factor for each in self.quiet[name]]),
                              "processor": median_interval([factor * one[0] / max(1, other[0]) for one, other in pairs]),
                              "recorder_ms": [round(statistics.median(each[side][1] for each in pairs) / STEPS / 1e6, 4) for side in (0, 1)],
                              "faults": [round(statistics.fmean(each[side][2] for each in pairs) / STEPS, 1) for side in (0, 1)]}
            for other in {"CUPTI", "listener"} & set(names) - {name}:
                if name.split()[0] in ("kernels", "modules", "memory", "ops"):
                    variants[name]["above " + other] = median_interval(
                        [mine - theirs for mine, theirs in zip(ratios, self.ratios[other])])
        rows["variants"] = variants
        if self.options.json:
            pathlib.Path(self.options.json).write_text(json.dumps(self.report) + "\n")

    def run(self):
        left = max(0.0, self.options.seconds - (time.time() - self.options.since))
        for group, share in enumerate(SHARES):
            if group == 1:
                if not {"memory", "ops"} & set(self.wanted(1) + self.wanted(2)):
                    break
                before = self.tracker_ns()
                self.parts.add_memory()
                after = self.tracker_ns()
                if before is not None:
                    events = self.allocations_of_a_step()
                    self.report["allocations_per_step"] = events
                    self.report["allocation_ns"] = [round(before, 1), round(after, 1)]
                    self.report["tracker_us"] = round(max(0.0, after - before) * events / 1000, 2)
            if group == 2:
                self.parts.add_ops()
            self.run_group(group, share * left)
            self.print_group(group)
        self.report["seconds"] = round(time.time() - self.options.since, 1)

    def allocations_of_a_step(self):
        def count():
            return self.torch.cuda.memory_stats()["allocation.all.allocated"]

        before = count()
        self.step()
        return count() - before

    def tracker_ns(self):
        """What a block of the GPU takes, allocated and freed, while nothing is recorded."""
        if self.options.device != "cuda":
            return None
        times = []
        for _ in range(300):
            start = time.perf_counter_ns()
            for _ in range(100):
                self.torch.empty(1024, device="cuda")
            times.append((time.perf_counter_ns() - start) / 100)
        return statistics.median(times)

    def print_group(self, group):
        rows = self.report["rounds"].get(str(group))
        if not rows:
            return
        print("%d pairs, bare step %.3f ms" % (rows["rounds"], rows["bare_ms"]), flush=True)
        for name, row in rows["variants"].items():
            above = ["%s %+.4f [%+.4f, %+.4f]" % (key, *row[key]) for key in row if key.startswith("above")]
            print("  %-28s %.4f [%.4f, %.4f]  fastest steps %.4f  processor %.4f [%.4f, %.4f]  recorder %.3f and %.3f  faults %.1f and %.1f  %s"
                  % (name, *row["ratio"], row["fastest"][0], *row["processor"], *row["recorder_ms"], *row["faults"], "  ".join(above)),
                  flush=True)


def make_step(torch, device):
    if device == "cuda":
        from train import make_step as make

        return make(argparse.Namespace(batch=4, autocast=False, workers=0))
    from torch.nn import functional
    from train import Model

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Model(layers=4, width=64, heads=4, words=128)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(128, (1, 17))

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    return step


def options_of(arguments):
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilescope", required=True, help="the program whose recorder is measured")
    options.add_argument("--alone", help="library of the target cupti_alone; default: beside the recorder's, if it is there")
    options.add_argument("--observer", help="library of the target observer_alone; likewise")
    options.add_argument("--settings", default="", help="settings of that library, each a further variant")
    options.add_argument("--only", default="", help="variants, joined by commas; default: all")
    options.add_argument("--seconds", type=float, default=150)
    options.add_argument("--rounds", type=int, default=0, help="so many rounds instead of as many as the seconds allow")
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    options.add_argument("--json", default="")
    options.add_argument("--since", type=float, default=0, help=argparse.SUPPRESS)  # set in the process that is measured
    options = options.parse_args(arguments)
    for name in ("alone", "observer"):
        beside = pathlib.Path(options.tilescope).resolve().parents[1] / ("lib/lib%s_alone.so" % {"alone": "cupti"}.get(name, name))
        if getattr(options, name) is None:
            setattr(options, name, str(beside) if beside.exists() else "")
    return options


def run_inside(options):
    bench = Bench(options)
    bench.report["host"] = describe_host()
    bench.run()
    print(json.dumps(bench.report), flush=True)


def run_recorded(arguments):
    """Starts this script under record; nothing is recorded until it asks."""
    options = options_of(arguments)
    since = time.time()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "floors.tscope"
        program = os.path.abspath(options.tilescope)
        words = [program, "record", "-o", str(file), "--no-memory", "--from", "no such range", "--", sys.executable,
                 os.path.abspath(__file__), *arguments, "--since", str(since)]
        status = subprocess.run(words, check=False, env=dict(os.environ, XDG_RUNTIME_DIR=folder)).returncode
        shown = subprocess.run([program, "show", str(file), "losses"], capture_output=True, text=True, check=False)
        print("losses of the recording:\n" + shown.stdout + shown.stderr, flush=True)
    return status


if __name__ == "__main__":
    if options_of(sys.argv[1:]).since:
        run_inside(options_of(sys.argv[1:]))
    else:
        sys.exit(run_recorded(sys.argv[1:]))
