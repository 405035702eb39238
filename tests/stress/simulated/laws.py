#!/usr/bin/env python3
"""Laws that hold for what tilescope concludes about any recording, simulated or not.

    laws.py --tilescope PROGRAM RECORDING.tscope…
    laws.py --tilescope PROGRAM --cut TRACE.json.gz…

prints what breaks them; exit status 1 if something does. --cut also imports the traces of PyTorch's profiler without their last
third of steps, and compares the answers about the others.
"""

import argparse
import functools
import gzip
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

ALMOST_ALL = 0.95
BUSY = 0.95
ON_DEVICE = 0.9
ROUNDING = 0.001
HARDLY = 0.1  # of what it would save if the GPU decided alone
A_LITTLE_LESS = 0.9  # of all work of the GPU
LAG_NS = 10_000  # from a launch to the start of its kernel
PARTS = ("host", "launch", "compute", "memory", "communication", "data_loading", "synchronization", "unexplained")
IDLE = ("gpu_busy_ns", "idle_launch_ns", "sync_ns", "overhead_ns", "unexplained_ns")


def key_of(row):
    return row["process"], row["step"]


class Laws:
    def __init__(self, show, sql):
        """`show(*arguments)` and `sql(statement)` return the rows of a recording."""
        self.show = functools.cache(show)
        self.sql = sql

    def broken(self):
        """What breaks a law, as tuples: law, rank, step, text. And the number of answers looked at."""
        steps = {key_of(row): row for row in self.show("steps")}
        paths = [row for row in self.show("path") if row["step"] is not None]
        found = []
        for path in paths:
            step = steps[key_of(path)]
            found += [(law, path["rank"] or 0, path["step"], text) for law, text in self.of_step(step, path)]
        found += self.unchanged()
        found += self.ahead(steps, {key_of(path): path for path in paths})
        found += self.scaled(steps)
        return found, 6 * len(paths)

    @staticmethod
    def of_step(step, path):
        """Answers about one step agree, and parts add up."""
        parts = sum(path[part + "_ns"] for part in PARTS)
        idle = sum(step[part] or 0 for part in IDLE)
        if not path["wall_ns"] == step["wall_ns"] == parts:
            yield "parts add up", f"path {path['wall_ns']}, step {step['wall_ns']}, parts {parts}"
        if step["gpu_busy_ns"] is not None and step["verdict"] != "CPU" and idle != step["wall_ns"]:
            yield "idle adds up", f"{idle} of {step['wall_ns']}"
        if path["typical"] != step["typical"]:
            yield "typical", f"path: {path['typical']}, steps: {step['typical']}"
        on_host = (path["host_ns"] + path["launch_ns"]) / max(1, path["wall_ns"])
        if step["verdict"] == "GPU-bound" and on_host > ON_DEVICE:
            yield "verdict", f"GPU-bound, and {100 * on_host:.0f} % of the path is the host's"

    def unchanged(self):
        """What changes nothing predicts what was recorded."""
        families = self.families(self.show("steps"))
        if not families:
            return
        for row in self.show("what-if", "--scale", f"{families[0]}=1"):
            for step in row["per_step"]:
                if step["wall_ns"] != step["predicted_ns"]:
                    yield "nothing changes", row["rank"] or 0, step["step"], str(step)

    def families(self, steps):
        """Of the kernels in steps, or without steps of all."""
        return [row["family"] for row in self.show("kernels", "--group", "family") if row["steps"] or not steps]

    def scaled(self, steps):
        """Less work never takes longer, and steps in a row that a tenth less work of the GPU hardly shortens are not GPU-bound."""
        families = self.families(steps)
        if not families:
            return
        for factor in (0, A_LITTLE_LESS):
            changes = [word for family in families for word in ("--scale", f"{family}={factor}")]
            for row in self.show("what-if", *changes):
                # The end of one step is the start of the next: less work may move time from one to the other.
                walls, predicted = (sum(each[key] for each in row["per_step"]) for key in ("wall_ns", "predicted_ns"))
                if predicted > (1 + ROUNDING) * walls:
                    yield "less work takes longer", row["rank"] or 0, None, f"{factor}: {predicted} instead of {walls} ns"
                if factor != A_LITTLE_LESS:
                    continue
                bound = [(steps.get((row["process"], each["step"]), {}).get("verdict") == "GPU-bound", each)
                         for each in row["per_step"]]
                for is_bound, group in itertools.groupby(bound, lambda each: each[0]):
                    group = [each for _, each in group]
                    walls, predicted = (sum(each[key] for each in group) for key in ("wall_ns", "predicted_ns"))
                    if is_bound and walls - predicted < HARDLY * (1 - A_LITTLE_LESS) * walls:
                        yield ("GPU-bound", row["rank"] or 0, group[0]["step"],
                               f"a tenth less work saves {walls - predicted} of {walls} ns of {len(group)} steps")

    def ahead(self, steps, paths):
        """On one stream, where the host is ahead of a busy device, the device is on the path from then on."""
        rows = self.sql("select step, stream, device, start, start + duration as end, launched from kernels "
                        "where step is not null order by start")
        by_step = {}
        for row in rows:
            by_step.setdefault(row["step"], []).append(row)
        if len({process for process, _ in steps}) > 1:
            return
        for key, step in steps.items():
            kernels = by_step.get(key[1], [])
            if len(kernels) < 3 or len({(row["device"], row["stream"]) for row in kernels}) > 1 or key not in paths:
                continue
            late = [row for last, row in zip(kernels, kernels[1:])
                    if row["launched"] is None or row["launched"] + LAG_NS > last["end"]]
            path = paths[key]
            # Before a kernel whose launch came late, the host may have decided for any time.
            ahead = kernels[-1]["end"] - (late[-1] if late else kernels[0])["start"]
            device = sum(path[part + "_ns"] for part in ("compute", "memory", "communication"))
            if (len(late) <= (1 - ALMOST_ALL) * (len(kernels) - 1) and (step["gpu_busy_ns"] or 0) > BUSY * step["wall_ns"]
                    and device < ON_DEVICE * min(ahead, step["wall_ns"])):
                yield ("host is ahead", path["rank"] or 0, key[1],
                       f"{device} ns of the path are on the device, for {ahead} of {step['wall_ns']} ns it was never late")


def command_of(tilescope):
    """Runs a command of this program and returns its output."""
    def run(*words):
        done = subprocess.run([str(each) for each in (tilescope, *words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode} {done.stderr.strip()}")
        return done.stdout

    return run


def laws_of(command, recording):
    """`command(*words)` returns the output of a command of tilescope."""
    return Laws(lambda *words: json.loads(command("show", recording, *words, "--format", "json")),
                lambda statement: json.loads(command("sql", recording, statement, "--format", "json")))


def answers_of(tilescope, recording):
    """Steps and paths by process and step, and the rule of the first advice."""
    def rows(section):
        done = subprocess.run([str(tilescope), "show", str(recording), section, "--format", "json"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"show {recording} {section}: {done.returncode} {done.stderr.strip()}")
        return json.loads(done.stdout)

    advice = [row["rule"] for row in rows("advice") if row["at_stake_ns"] is not None]
    return ({key_of(row): row for row in rows("steps")},
            {key_of(row): row for row in rows("path") if row["step"] is not None}, advice)


def without_last_third(trace, from_ns, to_ns, origin_ns):
    """The events that the host began before a third of the steps, and what it launched by then."""
    at = origin_ns / 1000 + (from_ns + 2 * (to_ns - from_ns) / 3) / 1000
    launched = {each["args"]["correlation"] for each in trace["traceEvents"]
                if each.get("cat") in ("cuda_runtime", "cuda_driver") and float(each["ts"]) < at
                and "correlation" in each.get("args", {})}

    def stays(each):
        if each.get("ph") != "X" or float(each["ts"]) < at:
            return True
        return each.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and each["args"].get("correlation") in launched

    return dict(trace, traceEvents=[each for each in trace["traceEvents"] if stays(each)])


def broken_by_cut(tilescope, source):
    """What a recording cut to two thirds of its steps answers otherwise; none where it has fewer than three steps."""
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt") as file:
        trace = json.load(file)
    with tempfile.TemporaryDirectory(prefix="tilescope-cut-") as temporary:
        folder = pathlib.Path(temporary)

        def imported(path):
            recording = folder / (path.name + ".tscope")
            done = subprocess.run([str(tilescope), "import", str(path), "-o", str(recording)], capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"import {path}: {done.stderr.strip()}")
            return recording

        whole = imported(source)
        steps, paths, advice = answers_of(tilescope, whole)
        if len(steps) < 3 or len({process for process, _ in steps}) > 1:
            return [], 0
        times = sorted((path["start_ns"], path["start_ns"] + path["wall_ns"]) for path in paths.values())
        events = [each for each in trace["traceEvents"] if each.get("ph") == "X" and each.get("cat") != "Trace"]
        first = min(round(1000 * float(each["ts"])) for each in events)
        cut = folder / "cut.json"
        cut.write_text(json.dumps(without_last_third(trace, times[0][0], times[-1][1], first)))
        cut_steps, cut_paths, cut_advice = answers_of(tilescope, imported(cut))
    found = []
    # The step in which the cut lies, and the one before it, whose work it may cut, are other steps.
    for key in sorted(cut_steps.keys() & steps.keys(), key=lambda key: key[1])[:-2]:
        step, other, path, cut_path = steps[key], cut_steps[key], paths[key], cut_paths[key]
        if other["source"] != step["source"] or abs(other["wall_ns"] - step["wall_ns"]) > 0.01 * step["wall_ns"]:
            found.append(("cut: steps", 0, key[1], f"{other['wall_ns']} ns ({other['source']}) instead of {step['wall_ns']}"))
        elif step["typical"] and other["typical"] and other["verdict"] != step["verdict"]:
            found.append(("cut: verdict", 0, key[1], f"{other['verdict']} instead of {step['verdict']}"))
        else:
            parts = {part: cut_path[part + "_ns"] - path[part + "_ns"] for part in PARTS}
            if sum(map(abs, parts.values())) > 2 * 0.05 * step["wall_ns"]:
                found.append(("cut: path", 0, key[1], str({part: each for part, each in parts.items() if each})))
    if advice and cut_advice and advice[0] != cut_advice[0] and advice[0] not in cut_advice[:2]:
        found.append(("cut: advice", 0, None, f"{cut_advice[0]} instead of {advice[0]} first"))
    return found, 3 * len(cut_steps) + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("recordings", nargs="+")
    options = parser.parse_args()
    failed = answers = 0
    for recording in options.recordings:
        try:
            found, count = (broken_by_cut(options.tilescope, pathlib.Path(recording)) if options.cut
                            else laws_of(command_of(options.tilescope), recording).broken())
        except RuntimeError as error:
            found, count = [("error", None, None, str(error))], 0
        answers += count
        failed += bool(found)
        for each in found[:5]:
            print(recording, *each)
    print(f"{len(options.recordings)} recordings, {answers} answers, laws broken by {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
