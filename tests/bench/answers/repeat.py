"""Repeats Kineto traces of the ranks of one program: many steps with jitter, frames and modules around the ops.

usage: repeat.py FOLDER EVENTS [SOURCE.json.gz …]     default: both ranks of tests/data/kineto

Writes FOLDER/rank0.json.gz, … with about EVENTS events of device, host and Python in all. What is repeated keeps its names,
shapes and order. Times are stretched by a random factor that changes 200 times a round, the same for all ranks, threads
and devices, so that what was nested or in order still is. Each round is a step of PyTorch's profiler. Python functions and
modules are added around the ops of the main thread, as with_stack=True records them.
"""
import gzip
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys

DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "kineto"
IDS = ("correlation", "External id", "Sequence number", "Ev Idx", "wait_on_cuda_event_record_corr_id")
PIECES = 200      # of a round, each with its own factor
BLOCKS = 12       # modules of the model, each with the same modules inside
COUNTED = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset",
           "python_function", "cpu_instant_event")


def nested(events):
    """The ops that no other op of their thread contains, in order of their starts."""
    tops, end = [], 0
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        if event["ts"] >= end:
            tops.append(event)
            end = event["ts"] + event["dur"]
    return tops


def python_functions(events, span):
    """Frames around the ops of the main thread: the step, the loop, modules, and a function at each op."""
    main = next(event for event in events if event.get("name") == "forward" and event.get("cat") == "user_annotation")
    own = {"ph": "X", "cat": "python_function", "pid": main["pid"], "tid": main["tid"]}
    frames = []
    numbers = itertools.count(1)

    def frame(name, start, end, parent, **args):
        frames.append({**own, "name": name, "ts": start, "dur": end - start,
                       "args": {"Python id": next(numbers), "Python parent id": parent, "Ev Idx": 10_000_000 + len(frames), **args}})
        return frames[-1]["args"]["Python id"]

    loop = frame("train.py(88): train_step", span[0], span[1], None)
    for phase in [event for event in events if event.get("cat") == "user_annotation" and event.get("name") in ("forward", "backward", "optimizer")]:
        begin, end = phase["ts"], phase["ts"] + phase["dur"]
        around = frame(f"train.py({90 + len(phase['name'])}): {phase['name']}", begin, end, loop)
        ops = nested(event for event in events if event.get("cat") == "cpu_op" and event.get("tid") == main["tid"]
                     and begin <= event["ts"] and event["ts"] + event["dur"] <= end)
        for block in range(BLOCKS):
            inside = ops[len(ops) * block // BLOCKS:len(ops) * (block + 1) // BLOCKS]
            if not inside:
                continue
            parent = around
            if phase["name"] == "forward":
                parent = frame(f"nn.Module: Block_{block}", inside[0]["ts"], inside[-1]["ts"] + inside[-1]["dur"], around,
                               **{"Python module id": block})
            for place, op in enumerate(inside):
                call = frame(f"torch/nn/functional.py({1000 + 10 * (place % 40)}): {op['name'].split('::')[-1]}", op["ts"],
                             op["ts"] + op["dur"], parent)
                frame(f"<built-in method {op['name'].split('::')[-1]} of type object at 0x7f0000000000>", op["ts"],
                      op["ts"] + op["dur"], call)
    return frames


def repeated(trace):
    return [event for event in trace["traceEvents"]
            if event.get("ph") in "Xifs" and event.get("cat") not in (None, "Trace", "overhead")]


def common_time(traces):
    """From the first event of all ranks to the end of the last one."""
    events = [event for trace in traces for event in repeated(trace)]
    return min(event["ts"] for event in events), max(event["ts"] + event.get("dur", 0) for event in events)


class Round:
    """The events of a trace with marks where they vary."""

    def __init__(self, trace, time):
        events = repeated(trace)
        self.begin, end = time
        self.span = end - self.begin + 200
        main = next(event for event in events if event.get("name") == "forward")
        frames = python_functions(events, (self.begin - 50, end + 50))
        step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#@s@", "pid": main["pid"], "tid": main["tid"],
                "ts": self.begin - 80, "dur": end - self.begin + 160, "args": {"External id": 0, "Ev Idx": 0}}
        self.meta = [event for event in trace["traceEvents"] if event.get("ph") == "M"]
        self.begin -= 100
        self.count = 0
        self.ids = 1
        literals, self.varying = [], []
        # Dense numbers: those of a long recording must still be as small as those that PyTorch gives.
        self.numbers = {}
        for event in [step, *events, *frames]:
            self.count += event.get("cat") in COUNTED
            literals.append(self.marked(event))
        text = ",\n".join(literals)
        self.literals, at = [], 0
        self.places = []
        for match in re.finditer(r'"@(t|d|i|s)([^@]*)@"|@(s)@', text):
            self.literals.append(text[at:match.start()])
            self.places.append((match[1] or match[3], match[2]))
            at = match.end()
        self.literals.append(text[at:])
        # A length is that of the event whose start comes before it.
        values, start = [], 0.0
        for kind, value in self.places:
            if kind == "t":
                start = float(value) - self.begin
                values.append(start)
            else:
                values.append(start + float(value) if kind == "d" else int(value) if kind == "i" else 0)
        self.values = values

    def number(self, number):
        """The same for equal numbers of a round."""
        number = self.numbers.setdefault(number, len(self.numbers) + 1)
        self.ids = max(self.ids, number + 1)
        return number

    def marked(self, event):
        event = dict(event)
        args = dict(event.get("args", {}))
        for name in IDS:
            if isinstance(args.get(name), int) and args[name] > 0:
                args[name] = f"@i{self.number(args[name])}@"
        for name in ("Python id", "Python parent id"):
            if isinstance(args.get(name), int):
                self.ids = max(self.ids, args[name] + 1)
                args[name] = f"@i{args[name]}@"
        # "ts" before "dur", as a length needs its start.
        rest = {key: value for key, value in event.items() if key not in ("ts", "dur", "args", "id")}
        if isinstance(event.get("id"), int):
            rest["id"] = f"@i{self.number(event['id'])}@"
        rest["ts"] = f"@t{event['ts']}@"
        if "dur" in event:
            rest["dur"] = f"@d{event['dur']}@"
        if args:
            rest["args"] = args
        return json.dumps(rest)

    def stretched(self, number):
        """Where the pieces of a round begin, and their factors. The same for all ranks."""
        source = random.Random(number)
        factors = [source.uniform(0.9, 1.1) for _ in range(PIECES)]
        return [0.0, *itertools.accumulate(self.span / PIECES * factor for factor in factors)], factors

    def text(self, number, later):
        """The events of a round."""
        bounds = [self.span * piece / PIECES for piece in range(PIECES + 1)]
        starts, factors = self.stretched(number)
        added = number * self.ids
        parts = [""] * (2 * len(self.values) + 1)
        parts[0::2] = self.literals
        filled, begun = [], 0.0
        for (kind, _), value in zip(self.places, self.values):
            if kind in "td":
                piece = min(PIECES - 1, max(0, int(value * PIECES / self.span)))
                at = starts[piece] + (value - bounds[piece]) * factors[piece]
                if kind == "t":
                    begun = at
                    filled.append(f"{later + at:.3f}")
                else:
                    filled.append(f"{at - begun:.3f}")
            else:
                filled.append(str(value + added) if kind == "i" else str(number))
        parts[1::2] = filled
        return "".join(parts)


def write_part(part):
    """Writes some rounds of a rank as one member of a gzip file. Takes Round, first text, first and last round, begin and file."""
    each, first, rounds, later, out = part
    packer = subprocess.Popen(["gzip", "-1"], stdin=subprocess.PIPE, stdout=open(out, "wb"))
    packer.stdin.write(first.encode())
    for number in rounds:
        packer.stdin.write((",\n" + each.text(number, later)).encode())
        later += each.stretched(number)[0][-1]
    packer.stdin.close()
    if packer.wait():
        sys.exit("gzip failed")


def generate(folder, steps, traces, rounds):
    """Writes the traces of all ranks, by as many processes as there are processors. A file is a row of gzip members."""
    processors = len(os.sched_getaffinity(0))
    length = max(1, -(-steps * len(traces) // processors))
    parts, files = [], []
    for rank, (trace, each) in enumerate(zip(traces, rounds)):
        head = {key: value for key, value in trace.items() if key != "traceEvents"}
        first = json.dumps(head)[:-1] + ', "traceEvents": [\n' + ",\n".join(json.dumps(event) for event in each.meta)
        later, names = each.begin, []
        for begin in range(0, steps, length):
            numbers = range(begin, min(steps, begin + length))
            names.append(folder / f"rank{rank}.{begin}.part")
            parts.append((each, first, numbers, later, names[-1]))
            later += sum(each.stretched(number)[0][-1] for number in numbers)
            first = ""
        files.append((folder / f"rank{rank}.json.gz", names))
    with multiprocessing.Pool(processors) as pool:
        for _ in pool.imap_unordered(write_part, parts, chunksize=1):
            pass
    for file, names in files:
        with open(file, "wb") as out:
            for name in names:
                out.write(name.read_bytes())
                name.unlink()
            out.write(gzip.compress(b"]}"))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sources = [pathlib.Path(name) for name in sys.argv[3:]] or [DATA / "ddp_rank0.json.gz", DATA / "ddp_rank1.json.gz"]
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    traces = [json.loads(gzip.decompress(source.read_bytes())) for source in sources]
    time = common_time(traces)
    rounds = [Round(trace, time) for trace in traces]
    steps = max(1, round(int(sys.argv[2]) / sum(each.count for each in rounds)))
    generate(folder, steps, traces, rounds)
    for rank, each in enumerate(rounds):
        print(f"rank {rank}: {steps * each.count} events", file=sys.stderr)


if __name__ == "__main__":
    main()
