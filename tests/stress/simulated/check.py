#!/usr/bin/env python3
"""Compares what tilescope concludes about simulated programs with what is true of them.

Each program is executed by `simulate`, which writes recordings and the truth. The recordings are imported.
Steps, the critical path by kind, predictions of what-if and figures of ranks are compared. Prints
counter-examples by kind, and with --shrink a small program for the first of each kind. Exit status 1 if more
programs have counter-examples than --allow permits, or if no program was checked.
"""

import argparse
import collections
import concurrent.futures
import copy
import functools
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import laws
import nsys_recording

# Kinds of work in the truth, by part of the path.
PARTS = {
    "host": ("host", "allocation", "tracing"),
    "launch": ("call", "latency", "order"),
    "compute": ("matmul", "convolution", "attention"),
    "memory": ("softmax", "norm", "elementwise", "reduction", "embedding", "optimizer", "copy", "memset"),
    "communication": ("communication",),
    "data_loading": ("loading",),
    "synchronization": ("wait",),
    "unexplained": (),
}
FAMILIES = {"communication": "collective"}  # where tilescope has another word
SHARE = 0.05  # of the wall time: the largest error that is accepted
LEAST_NS = 10_000
READY_US = 60  # in which a batch that is ready is taken
# Laws whose violations are no counter-examples. About 1 in 200 programs violates GPU-bound by a small margin: the law takes away a tenth
# of the GPU's work, whereas the verdict is decided by half of it.
OPEN_LAWS = {"GPU-bound"}
CLOCKS_NS = 50_000  # to which clocks of ranks can be put on one by the ends of collectives


def output_of(*command):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


class Answers:
    """Commands of tilescope, each in a process of its own or, with `answers`, all in one."""

    def __init__(self, tilescope, answers):
        self.tilescope = tilescope
        self.answers = answers
        self.program = None

    def run(self, *words):
        if not self.answers:
            return output_of(self.tilescope, *words)
        if self.program is None:
            self.program = subprocess.Popen([str(self.answers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program = self.program
        program.stdin.write("\t".join(map(str, words)).encode() + b"\n")
        program.stdin.flush()
        code, size = map(int, program.stdout.readline().split())
        text = program.stdout.read(size).decode()
        if code != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {text}")
        return text


class Checker:
    def __init__(self, tilescope, simulate):
        """`tilescope(*words)` returns the output of a command."""
        self.tilescope = tilescope
        self.simulate = simulate
        self.unknown = 0  # predictions that tilescope says it cannot know

    def show(self, recording, *arguments):
        return json.loads(self.tilescope("show", recording, *arguments, "--format", "json"))

    def check(self, folder, changes=None):
        """The counter-examples of the program in a folder, and the number of compared answers.

        A counter-example is a tuple: kind, rank, step, text. With `changes`, only these predictions are compared.
        """
        truth = json.loads((folder / "truth.json").read_text())
        recording = folder / "imported.tscope"
        recording.unlink(missing_ok=True)
        self.tilescope("import", *sorted(folder.glob("rank*.json")), "-o", recording)
        found = []
        answers = 0
        steps = {(each["rank"], each["step"]): each for each in truth["steps"]}
        answered = laws.laws_of(self.tilescope, recording)  # asks each question once
        rows = {(each["rank"] or 0, each["step"]): each for each in answered.show("steps")}
        answers += 1
        if rows.keys() != steps.keys():
            found.append(("steps", None, None, f"{sorted(rows)} instead of {sorted(steps)}"))
            return found, answers
        for key, step in steps.items():
            answers += 2
            self.compare(found, "wall", key, step, rows[key]["wall_ns"], step["wall"])
            self.compare(found, "busy", key, step, rows[key]["gpu_busy_ns"] or 0, step["busy"])
        # Nobody can know how much a queue holds that never was full, nor how long batches take that are ready in time.
        others = ["what_if_roomy"] if self.waits_for_batches(folder) else ["what_if_roomy", "what_if_ready"]
        answers += self.check_path(found, answered, steps)
        answers += self.check_laws(found, answered)
        if len({rank for rank, _ in steps}) > 1:
            clocks = json.loads((folder / "program.json").read_text())["clocks"]
            answers += self.check_ranks(found, recording, steps, truth["collectives"], clocks)
        else:
            answers += self.check_unmarked(found, folder, steps)
            answers += self.check_nsys(found, folder, steps)
            answers += self.check_own(found, folder, steps)
        for change, walls in truth["what_if"].items():
            if changes is None or change in changes:
                works = [each.removesuffix("=0.5") for each in truth["what_if"] if each.endswith("=0.5")]
                possible = [walls, *(truth[other][change] for other in others if change in truth.get(other, {}))]
                answers += self.check_change(found, recording, steps, change, possible,
                                             sorted({*works} - {"device"}), "what_if_ready" in truth)
        return found, answers

    @staticmethod
    def compare(found, kind, key, step, got, right):
        if abs(got - right) > SHARE * step["wall"] + LEAST_NS:
            found.append((kind, *key, f"{got / 1e3:.1f} instead of {right / 1e3:.1f} us of {step['wall'] / 1e3:.1f} us"))

    def check_path(self, found, answered, steps):
        rows = {(each["rank"] or 0, each["step"]): each for each in answered.show("path")}
        for key, step in steps.items():
            self.compare_path(found, "path", key, rows[key], step)
        return len(steps)

    def compare_path(self, found, kind, key, row, step, parts=None):
        parts = parts or {part: (part,) for part in PARTS}

        def errors_against(paths):
            return {name: self.outside(sum(row[part + "_ns"] for part in each),
                                       [sum(path.get(work, 0) for part in each for work in PARTS[part]) for path in paths])
                    for name, each in parts.items()}

        def misplaced(errors):
            """Time that is in a wrong part lacks in another."""
            return max(sum(error for error in errors.values() if error > 0),
                       -sum(error for error in errors.values() if error < 0))

        # Chains that are hardly shorter are paths as well.
        errors = errors_against([step["path"], step["rival_path"]])
        least = min([errors, *(errors_against([path]) for path in step["near_paths"])], key=misplaced)
        if misplaced(least) > SHARE * step["wall"] + LEAST_NS:
            largest = {part: f"{error / 1e3:+.1f}" for part, error in errors.items() if abs(error) > LEAST_NS}
            most = max(errors, key=errors.get)
            least = min(errors, key=errors.get)
            found.append((f"{kind}: {most} instead of {least}", *key, f"{largest} us of {step['wall'] / 1e3:.1f} us"))

    @staticmethod
    def check_laws(found, answered):
        broken, answers = answered.broken()
        found += [each for each in broken if each[0] not in OPEN_LAWS]
        return answers

    def check_unmarked(self, found, folder, steps):
        """Where the recording has no steps, the paths of the periods that are computed are right too."""
        recording = json.loads((folder / "rank0.json").read_text())
        recording["traceEvents"] = [each for each in recording["traceEvents"]
                                    if not each["name"].startswith("ProfilerStep#")]
        (folder / "unmarked.json").write_text(json.dumps(recording))
        imported = folder / "unmarked.tscope"
        imported.unlink(missing_ok=True)
        self.tilescope("import", folder / "unmarked.json", "-o", imported)
        rows = [each for each in self.show(imported, "path") if each["step"] is not None]
        events = recording["traceEvents"]
        # The recording begins with an event at the start of the program; the run of an import starts with the first activity.
        origin = round(1000 * (min(each["ts"] for each in events if each["ph"] == "X") -
                               min(each["ts"] for each in events if each["ph"] == "M")))
        periods = [f"{origin + row['start_ns']}:{origin + row['start_ns'] + row['wall_ns']}" for row in rows]
        truths = json.loads(output_of(self.simulate, "periods", folder / "program.json", *periods)) if rows else []
        # Where the thread never waits for two batches in a row, or no batch was ready, nobody knows since when one was loaded.
        shortest = self.shortest_take(folder)
        known = self.waits_for_batches(folder) and shortest < READY_US
        taken = self.taken(folder / "rank0.json")
        origin_us = min(each["ts"] for each in events if each["ph"] == "X")
        for row, truth in zip(rows, truths):
            first = origin_us + row["start_ns"] / 1000
            # Of a batch that was ready in time, and of the one that is loaded after it, only the usual time is known.
            is_known = known and all(min(before, now) > shortest + 50 for (_, before), (start, now) in zip([(0, 0), *taken], taken)
                                     if first <= start < first + row["wall_ns"] / 1000)
            is_unknown = shortest and not is_known
            parts = merged("host", "launch", "data_loading") if is_unknown else None
            self.compare_path(found, "period", (0, row["step"]), row, dict(truth, wall=row["wall_ns"]), parts)
        return len(rows)

    def check_nsys(self, found, folder, steps):
        """The steps and paths of the same program as Nsight Systems exports it."""
        if len(steps) < 2:
            return 0  # one range is no series
        source = folder / "report.sqlite"
        source.unlink(missing_ok=True)
        nsys_recording.write(json.loads((folder / "rank0.json").read_text()), source)
        recording = folder / "nsys.tscope"
        recording.unlink(missing_ok=True)
        self.tilescope("import", source, "-o", recording)
        rows = {(0, each["step"]): each for each in self.show(recording, "steps")}
        if rows.keys() != steps.keys():
            found.append(("nsys steps", None, None, f"{sorted(rows)} instead of {sorted(steps)}"))
            return 1
        paths = {(0, each["step"]): each for each in self.show(recording, "path")}
        # Without ops, nobody knows whether a thread waits for another one that launches.
        threads = json.loads((folder / "program.json").read_text())["threads"]
        parts = merged("host", "launch") if sum(not each.get("other_process") for each in threads) > 1 else None
        for key, step in steps.items():
            self.compare(found, "nsys wall", key, step, rows[key]["wall_ns"], step["wall"])
            self.compare_path(found, "nsys path", key, paths[key], step, parts)
        return 1 + 2 * len(steps)

    def check_own(self, found, folder, steps):
        """The steps and paths of the same program as tilescope itself records it."""
        recording = folder / "own.tscope"
        rows = {(0, each["step"]): each for each in self.show(recording, "steps")}
        if rows.keys() != steps.keys():
            found.append(("own steps", None, None, f"{sorted(rows)} instead of {sorted(steps)}"))
            return 1
        paths = {(0, each["step"]): each for each in self.show(recording, "path")}
        for key, step in steps.items():
            self.compare(found, "own wall", key, step, rows[key]["wall_ns"], step["wall"])
            self.compare(found, "own busy", key, step, rows[key]["gpu_busy_ns"] or 0, step["busy"])
            self.compare_path(found, "own path", key, paths[key], step)
        return 1 + 3 * len(steps)

    @staticmethod
    def taken(path):
        """When and how long each batch was taken that another process loads, in us."""
        return sorted((each["ts"], each["dur"]) for each in json.loads(path.read_text())["traceEvents"]
                      if "MultiProcessing" in each["name"])

    def shortest_take(self, folder):
        return min((length for path in folder.glob("rank*.json") for _, length in self.taken(path)), default=0)

    def waits_for_batches(self, folder):
        """Whether a thread waits for two batches in a row that another process loads: these tell how long one takes."""
        for path in folder.glob("rank*.json"):
            taken = [length for _, length in self.taken(path)]
            shortest = min(taken, default=0)
            late = [length > shortest + max(50, shortest / 2) for length in taken]
            if any(map(all, zip(late, late[1:]))):
                return True
        return False

    @staticmethod
    def outside(value, limits):
        return value - min(max(value, min(limits)), max(limits))

    def check_ranks(self, found, recording, steps, collectives, clocks):
        answers = 0
        for row in self.show(recording, "ranks"):
            key = (row["rank"], row["step"])
            if key in steps:
                answers += 1
                self.compare(found, "exposed communication", key, steps[key], row["exposed_communication_ns"],
                             steps[key]["exposed_communication"])
        rows = sorted(self.show(recording, "collectives"), key=lambda row: (row["step"], row["sequence"]))
        answers += 1
        if len(rows) != len(collectives):
            found.append(("collectives", None, None, f"{len(rows)} instead of {len(collectives)}"))
            return answers
        for row, collective in zip(rows, collectives):
            answers += 1
            is_late = collective["late"] > 2 * LEAST_NS
            if row["late_rank"] is None and collective["late"] < CLOCKS_NS and any(clocks):
                self.unknown += 1  # what the clocks of the ranks do not tell apart
            elif is_late and row["late_rank"] != collective["last_rank"]:
                found.append(("late rank", row["late_rank"], row["step"],
                              f"instead of {collective['last_rank']}, late by {collective['late'] / 1e3:.1f} us"))
        return answers

    def check_change(self, found, recording, steps, change, walls, works, has_loaders):
        if change.startswith("free "):
            arguments = ["--free", change.removeprefix("free ")]
        else:
            work, factor = change.split("=")
            arguments = []
            for each in works if work == "device" else [work]:
                arguments += ["--scale", f"{FAMILIES.get(each, each)}={factor}"]
        right = [{(each["rank"], each["step"]): each["wall"] for each in list_} for list_ in walls]
        rows = self.show(recording, "what-if", *arguments)
        predicted = {(row["rank"] or 0, each["step"]): each["predicted_ns"]
                     for row in rows for each in row["per_step"]}
        if any(row["assumption"] for row in rows):
            # It says that the order within graphs was not recorded.
            self.unknown += len(steps)
            return 0

        def compare(key, predicted, right, wall):
            nearest = min(max(predicted, min(right)), max(right))
            # An error is one of the predicted step.
            self.compare(found, f"what-if {change}", key, {"wall": max(wall, nearest)}, predicted, nearest)

        if has_loaders:
            # Batches take different times. Of one that was ready in time, only the usual time is known: steps are right in sum.
            compare((0, None), sum(predicted.values()), [sum(each.values()) for each in right],
                    sum(step["wall"] for step in steps.values()))
            return 1
        for key, step in steps.items():
            compare(key, predicted[key], [each[key] for each in right], step["wall"])
        return len(steps)


def merged(*together):
    """The parts of paths by name, some of them as one."""
    return {together[0]: together, **{part: (part,) for part in PARTS if part not in together}}


def kinds_of(found):
    return {each[0] for each in found}


class Shrinker:
    """Finds a small program with the same kind of counter-example."""

    def __init__(self, checker, kind, folder):
        self.checker = checker
        self.kind = kind
        self.folder = folder

    def fails(self, program):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        source = self.folder / "candidate.json"
        source.write_text(json.dumps(program))
        try:
            output_of(self.checker.simulate, "run", source, self.folder)
            changes = [self.kind.removeprefix("what-if ")] if self.kind.startswith("what-if") else []
            return self.kind in kinds_of(self.checker.check(self.folder, changes)[0])
        except (RuntimeError, KeyError):
            return False

    def shrink(self, program):
        program = self.without_threads(program)
        while True:
            smaller = self.without_instructions(self.without_steps(program))
            if smaller == program:
                self.fails(program)  # leaves its files in the folder
                return program
            program = smaller

    def without_threads(self, program):
        ranks = len(program["clocks"])
        candidates = [dict(program, clocks=[0] * ranks), dict(program, sync_records=True),
                      dict(program, queue_depth=1024)]
        for candidate in candidates:
            changed = dict(program, **{key: value for key, value in candidate.items() if key != "threads"})
            if changed != program and self.fails(changed):
                program = changed
        return program

    def without_steps(self, program):
        count = max(len(each["instructions"]) for each in program["threads"])
        for step in reversed(range(count)):
            candidate = copy.deepcopy(program)
            for thread in candidate["threads"]:
                body = thread["instructions"]
                if len(body) == count:
                    del body[step]
            if self.fails(candidate):
                program = candidate
                count -= 1
        return program

    def without_instructions(self, program):
        for index in range(len(program["threads"])):
            bodies = [each["body"] for each in program["threads"][index]["instructions"] if each.get("range") == "step"]
            length = min(map(len, bodies), default=0)
            size = max(length // 2, 1)
            while size >= 1 and length > 0:
                first = 0
                while first < length:
                    candidate = copy.deepcopy(program)
                    for each in candidate["threads"][index]["instructions"]:
                        if each.get("range") == "step":
                            del each["body"][first:first + size]
                    if self.fails(candidate):
                        program = candidate
                        length -= size
                    else:
                        first += size
                size //= 2
        return program


def described(program):
    """A program as text."""
    lines = [f"queue {program['queue_depth']}, clocks {program['clocks']}, sync records {program['sync_records']}"]

    def add(instruction, depth):
        words = [f"{key}={value}" for key, value in instruction.items() if key not in ("do", "body", "after")]
        lines.append("  " * depth + " ".join([instruction["do"], *(word[:60] for word in words)]))
        for each in instruction.get("body", []):
            add(each, depth + 1)

    for thread in program["threads"]:
        lines.append(f"thread {thread['number']} of rank {thread['rank']}")
        for instruction in thread["instructions"]:
            add(instruction, 1)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--simulate", required=True)
    parser.add_argument("--answers", help="the program that runs many commands in one process; none: a process each")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=300, help="number of programs")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of programs that are checked first, with all predictions")
    parser.add_argument("--changes", type=int, default=0, help="predictions compared for each program; 0: all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="begin no program after so long, and report those that were checked")
    parser.add_argument("--allow", type=int, default=0, help="programs with a counter-example that are accepted")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the counter-examples")
    options = parser.parse_args()
    fixed = sorted(options.programs.glob("*.json")) if options.programs else []
    if options.programs and not fixed:
        parser.error(f"--programs: {options.programs} has no *.json")
    options.until = time.monotonic() + options.seconds if options.seconds else math.inf
    with tempfile.TemporaryDirectory(prefix="tilescope-simulated-") as temporary:
        root = pathlib.Path(temporary)
        seeds = [*fixed, *range(options.first, options.first + options.count)]
        # Processes: much of the time is spent on reading what tilescope prints.
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            results = [each for each in pool.map(functools.partial(check, options, root), seeds) if each]
        failed = report(results)
        print(f"{sum(result[5] for result in results)} predictions rest on an assumption that tilescope names")
        if options.shrink:
            shrink(checker_of(options.tilescope, options.answers, options.simulate), results, root, options.keep)
    if not results:
        print("no program was checked", file=sys.stderr)
        return 1
    return 0 if failed <= options.allow else 1


@functools.cache
def checker_of(tilescope, answers, simulate):
    return Checker(Answers(tilescope, answers).run, simulate)


def check(options, root, seed):
    """Seed or path, tags, counter-examples, answers, the program and how many predictions say that they rest on an assumption.

    None if the time is over.
    """
    if time.monotonic() > options.until:
        return None
    checker = checker_of(options.tilescope, options.answers, options.simulate)
    unknown = checker.unknown
    is_random = isinstance(seed, int)
    folder = root / (str(seed) if is_random else seed.stem)
    if is_random:
        output_of(options.simulate, "random", seed, 1, root)
    else:
        output_of(options.simulate, "run", seed, folder)
        seed = seed.stem
    truth = json.loads((folder / "truth.json").read_text())
    changes = sorted(truth["what_if"])
    if options.changes and is_random:
        # Others for each seed, so that all are compared sometimes.
        changes = [changes[(seed + 5 * i) % len(changes)] for i in range(options.changes)]
    found, answers = checker.check(folder, changes)
    if found and options.keep:
        shutil.copytree(folder, options.keep / folder.name, dirs_exist_ok=True)
    program = json.loads((folder / "program.json").read_text())
    shutil.rmtree(folder)
    return seed, truth["tags"], found, answers, program, checker.unknown - unknown


def report(results):
    """Prints counter-examples by kind and by case, and returns the number of programs with any."""
    by_kind = collections.defaultdict(list)
    by_case = collections.Counter()
    for seed, tags, found, *_ in results:
        for each in found:
            by_kind[each[0]].append((seed, tags, each))
        by_case[tags[0] if tags else "fixed"] += bool(found)
    failed = sum(1 for result in results if result[2])
    for kind, examples in sorted(by_kind.items(), key=lambda item: -len({each[0] for each in item[1]})):
        programs = sorted({each[0] for each in examples}, key=str)
        seed, tags, (_, rank, step, text) = examples[0]
        print(f"{kind}: {len(examples)} in {len(programs)} programs; first: seed {seed} ({', '.join(tags[:1])}), rank {rank}, "
              f"step {step}: {text}; seeds {' '.join(map(str, programs))}")
    print(f"by case: {dict(by_case)}")
    print(f"{len(results)} programs, {sum(result[3] for result in results)} answers, "
          f"{sum(len(result[2]) for result in results)} counter-examples in {failed} programs")
    return failed


def shrink(checker, results, root, keep):
    done = set()
    for seed, tags, found, _, program, _ in results:
        for kind in sorted(kinds_of(found) - done):
            done.add(kind)
            name = "".join(c if c.isalnum() else "-" for c in kind)
            small = Shrinker(checker, kind, root / name).shrink(program)
            print(f"\n{kind}, from seed {seed} ({tags[0]}):\n{described(small)}")
            if keep:
                shutil.copytree(root / name, keep / name, dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(main())
