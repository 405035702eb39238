#!/usr/bin/env python3
"""Prints what tilescope concludes about recordings as a Markdown table, and looks for contradictions between its answers.

usage: tests/exchange/public_answers.py --tilescope PROGRAM FILE…       exit 1 if answers contradict each other

Run by hand: public recordings are not part of the repository. A .tscope file is read as it is, others are imported. A row has the
steps and their source, the mean wall time of typical steps, the share of it in which the GPU is busy, verdicts, the critical path by kind,
what is unexplained and why, and the first advice. Without steps it is about the whole recording, whose busy time is computed here.

Contradictions: the laws of tests/stress/simulated/laws.py; verdicts, shares and walls of steps, path and advice that differ; advice whose
evidence does not add up, or with more at stake than its kind of time takes; a remedy that the recording shows as applied; unexplained time
above 5 % without a sentence.
"""
import argparse
import functools
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "stress" / "simulated"))
import laws  # noqa: E402

from public_recordings import union  # noqa: E402

ROUNDING_NS = 1_000
UNEXPLAINED = 0.05
# A remedy, and what shows in the names of kernels or calls that the program applies it.
APPLIED = {
    "compile": (re.compile(r"torch\.compile (for chains|with)|: compile that module"), re.compile(r"^triton_(poi|red|per|tem|for)_")),
    "fused optimizer": (re.compile(r"(a|the) fused optimizer"), re.compile(r"FusedAdam|FusedOptimizer|fused_adam|FusedSgd")),
    "PyTorch": (re.compile(r"torch\."), re.compile(r"^(wrapped_|loop_\w*fusion|input_\w*fusion)")),
}
GRAPH = re.compile(r"Replay .* CUDA graph")
OF_GRAPHS = """select coalesce(sum(duration), 0) as all_ns, coalesce(sum(case when graph_node is not null or correlation in
    (select correlation from api_calls where name like '%GraphLaunch%') then duration else 0 end), 0) as replayed from kernels"""
MUCH = 0.1


class Recording:
    """The last run of a file."""

    def __init__(self, command, path):
        self.command = command
        self.path = path
        self.run = str(json.loads(command("show", path, "runs", "--format", "json"))[-1]["run"])
        self.steps = self.show("steps")
        self.paths = self.show("path")
        self.advice = [row for row in self.show("advice") if row["at_stake_ns"] is not None]

    def show(self, *words):
        return json.loads(self.command("show", self.path, *words, "--run", self.run, "--format", "json"))

    def sql(self, statement):
        return json.loads(self.command("sql", self.path, statement, "--format", "json"))

    def typical(self):
        return [row for row in self.steps if row["typical"]]

    def busy_share(self):
        """Of the typical steps, or of the whole recording; None without a GPU."""
        rows = [row for row in self.typical() if row["gpu_busy_ns"] is not None and row["verdict"] != "CPU"]
        wall = sum(row["wall_ns"] for row in rows)
        if wall:
            return sum(row["gpu_busy_ns"] for row in rows) / wall
        wall = sum(row["wall_ns"] for row in self.paths)
        if self.steps or not wall:
            return None
        with sqlite3.connect(f"file:{self.path}?mode=ro&immutable=1", uri=True) as db:
            times = [row for kind in ("KERNEL", "MEMCPY", "MEMSET")
                     for row in db.execute(f"select start, end from CUPTI_ACTIVITY_KIND_{kind}")]
        return union(times) / wall if times and len(self.paths) == 1 else None

    def parts(self):
        """Shares of the critical path by kind."""
        rows = [row for row in self.paths if row["typical"]] or self.paths
        wall = sum(row["wall_ns"] for row in rows)
        return {part: sum(row[part + "_ns"] for row in rows) / wall for part in laws.PARTS} if wall else {}

    def reason(self):
        """Why time is unexplained, as `show path` says."""
        lines = [line for line in self.command("show", self.path, "path", "--run", self.run, "--limit", "1").splitlines() if "unexplained:" in line]
        return lines[0].split("unexplained:")[1].strip() if lines else ""

    def contradictions(self):
        found = [f"{law}: rank {rank}, step {step}: {text}"
                 for law, rank, step, text in laws.Laws(self.show, self.sql).broken()[0]]
        typical = self.typical()
        for row in self.advice:
            found += self.of_advice(row, typical)
        if self.parts().get("unexplained", 0) > UNEXPLAINED and not self.reason():
            found.append("unexplained without a reason")
        return found

    def of_advice(self, row, typical):
        """What one finding says against the steps and against itself."""
        name = row["rule"]
        evidence = sum(each["at_stake_ns"] for each in row["evidence"])
        if row["evidence"] and abs(evidence - row["at_stake_total_ns"]) > max(ROUNDING_NS, laws.ROUNDING * row["at_stake_total_ns"]):
            yield f"{name}: evidence {evidence} of {row['at_stake_total_ns']} ns"
        if typical and row["steps"] != len(typical):
            yield f"{name}: {row['steps']} steps instead of {len(typical)}"
        walls = sum(each["wall_ns"] for each in typical)
        if typical and abs(row["wall_total_ns"] - walls) > ROUNDING_NS:
            yield f"{name}: wall {row['wall_total_ns']} instead of {walls}"
        known = [each for each in typical if each["gpu_busy_ns"] is not None]
        if known and len(known) == len(typical):
            idle = sum(each["wall_ns"] - each["gpu_busy_ns"] for each in known)
            if name in ("launch-bound", "synchronization", "data-loading", "start-up") and row["at_stake_total_ns"] > idle + ROUNDING_NS:
                yield f"{name}: {row['at_stake_total_ns']} ns of {idle} ns of idle time"
        advised = row["sentence"] + " " + row["remedy"]
        for remedy, (asked, applied) in APPLIED.items():
            if asked.search(advised) and any(map(applied.search, self.names())):
                yield f"{name}: its remedy is not for this program: {remedy}"
        if GRAPH.search(advised) and self.replayed() > MUCH:
            yield f"{name}: CUDA graphs replay {100 * self.replayed():.0f} % of the kernels' time already"

    @functools.cache
    def names(self):
        return [row["name"] or "" for row in self.sql("select distinct name from kernels")]

    @functools.cache
    def replayed(self):
        row = self.sql(OF_GRAPHS)[0]
        return row["replayed"] / row["all_ns"] if row["all_ns"] else 0

    def row(self, name):
        def percent(share):
            return "" if share is None else f"{100 * share:.1f} %"

        verdicts = {}
        for each in self.typical():
            verdicts[each["verdict"]] = verdicts.get(each["verdict"], 0) + 1
        types = sorted({str(each["type"]) for each in self.steps})
        sources = sorted({str(each["source"]) for each in self.steps})
        mean = sum(each["wall_ns"] for each in self.typical()) / max(1, len(self.typical()))
        parts = self.parts()
        advice = self.advice[0] if self.advice else None
        return [name,
                f"{len(self.typical())} of {len(self.steps)} {'/'.join(sources)} ({'/'.join(types)})" if self.steps else "none",
                f"{mean / 1e6:.3f}" if self.steps else f"{sum(each['wall_ns'] for each in self.paths) / 1e6:.3f}",
                percent(self.busy_share()),
                ", ".join(f"{verdict} {count}" for verdict, count in verdicts.items()),
                " ".join(f"{part} {100 * share:.0f}" for part, share in parts.items() if share >= 0.005 and part != "unexplained"),
                " ".join([percent(parts.get("unexplained")), self.reason() if parts.get("unexplained", 0) > UNEXPLAINED else ""]).strip(),
                f"{advice['rule']} {advice['percent']:.1f} %: {advice['sentence']} {advice['remedy']}" if advice else "none"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    command = laws.command_of(options.tilescope)
    head = ["recording", "typical steps", "wall (ms)", "GPU busy", "verdicts", "path (%)", "unexplained", "first advice", "contradictions"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    failed = 0
    for path in options.files:
        with tempfile.TemporaryDirectory(prefix="tilescope-answers-") as folder:
            recording = path
            if path.suffix != ".tscope":
                recording = pathlib.Path(folder) / "imported.tscope"
                done = subprocess.run([options.tilescope, "import", path, "-o", recording], capture_output=True, text=True)
                if done.returncode:
                    print(f"| {path.name} | refused: {done.stderr.strip()} |", flush=True)
                    continue
            try:
                answers = Recording(command, recording)
                found = answers.contradictions()
                row = answers.row(path.name)
            except RuntimeError as error:
                found, row = [str(error)], [path.name]
            failed += bool(found)
            print(f"| {' | '.join([*row, '; '.join(found[:4])])} |", flush=True)
    print(f"\n{len(options.files)} recordings, contradictions in {failed}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
