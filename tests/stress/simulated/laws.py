#!/usr/bin/env python3
"""Laws that hold for what tilescope concludes about any recording, simulated or not.

    laws.py --tilescope PROGRAM RECORDING.tscope…

prints what breaks them; exit status 1 if something does.
"""

import argparse
import json
import subprocess
import sys

ALMOST_ALL = 0.95
BUSY = 0.95
ON_DEVICE = 0.9
LAG_NS = 10_000  # from a launch to the start of its kernel
PARTS = ("host", "launch", "compute", "memory", "communication", "data_loading", "synchronization", "unexplained")
IDLE = ("gpu_busy_ns", "idle_launch_ns", "sync_ns", "overhead_ns", "unexplained_ns")


def key_of(row):
    return row["process"], row["step"]


class Laws:
    def __init__(self, show, sql):
        """`show(*arguments)` and `sql(statement)` return the rows of a recording."""
        self.show = show
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
        return found, 4 * len(paths)

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
        kernels = self.show("kernels", "--group", "family")
        if not kernels:
            return
        for row in self.show("what-if", "--scale", f"{kernels[0]['family']}=1"):
            for step in row["per_step"]:
                if step["wall_ns"] != step["predicted_ns"]:
                    yield "nothing changes", row["rank"] or 0, step["step"], str(step)

    def ahead(self, steps, paths):
        """On one stream, where the host is ahead of a busy device, the device is on the path."""
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
            before = sum(row["launched"] is not None and row["launched"] + LAG_NS <= last["end"]
                         for last, row in zip(kernels, kernels[1:]))
            path = paths[key]
            device = sum(path[part + "_ns"] for part in ("compute", "memory", "communication")) / step["wall_ns"]
            if (before >= ALMOST_ALL * (len(kernels) - 1) and (step["gpu_busy_ns"] or 0) > BUSY * step["wall_ns"]
                    and device < ON_DEVICE):
                yield "host is ahead", path["rank"] or 0, key[1], f"{100 * device:.0f} % of the path is on the device"


def laws_of(tilescope, recording):
    def run(*arguments):
        done = subprocess.run([str(each) for each in (tilescope, *arguments)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.returncode} {done.stderr.strip()}")
        return json.loads(done.stdout)

    return Laws(lambda *arguments: run("show", recording, *arguments, "--format", "json"),
                lambda statement: run("sql", recording, statement, "--format", "json"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("recordings", nargs="+")
    options = parser.parse_args()
    failed = answers = 0
    for recording in options.recordings:
        try:
            found, count = laws_of(options.tilescope, recording).broken()
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
