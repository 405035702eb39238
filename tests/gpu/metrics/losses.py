#!/usr/bin/env python3
"""Counts the samples of metrics that are lost, on a machine with an NVIDIA GPU: at several intervals, and with one and two threads that compute the
values of samples (a process that may use two processors has one of them).

usage: tests/gpu/metrics/losses.py [--tilescope PROGRAM] [--intervals 500us,200us,100us,50us]
Prints a table; the last line is one JSON object; exit 1 where samples are lost at 100 us or more with two threads, 77 (skipped) where there is no GPU.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_LOST = 0.005
MICROSECONDS = {"us": 1, "ms": 1000}


def microseconds(interval):
    return int(interval[:-2]) * MICROSECONDS[interval[-2:]]


def recorded(tilescope, folder, interval, processors):
    file = folder / f"{interval}_{len(processors)}.tscope"
    # The program keeps all processors: only Tilescope itself computes with fewer.
    everything = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    program = ["taskset", "-c", everything, sys.executable, str(HERE / "kernels.py")]
    ended = subprocess.run(["taskset", "-c", ",".join(map(str, processors)), tilescope, "record", "--metrics", "--metrics-interval", interval,
                            "-o", str(file), "--", *program], text=True, capture_output=True)
    if ended.returncode != 0:
        sys.exit(f"the recording failed: {ended.stderr[-800:]}")

    def shown(*section):
        return json.loads(subprocess.run([tilescope, "show", str(file), *section, "--format", "json"], text=True, capture_output=True,
                                         check=True).stdout)

    facts = {row["key"]: row["value"] for row in shown("environment")}
    samples = int(facts["record.metrics"].split(": ")[1].split()[0].replace(",", ""))
    lost = sum(row["count"] for row in shown("losses") if row["kind"] == "metric_samples_lost")
    return {"interval": interval, "threads": min(2, len(processors) - 1), "samples": samples, "lost": lost,
            "share": lost / max(1, samples + lost), "decoding_ns": int(facts["metrics.decoding"]),
            "evaluating_ns": int(facts["metrics.evaluating"])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilescope", default="build/gpu/bin/tilescope")
    parser.add_argument("--intervals", default="500us,200us,100us,50us")
    options = parser.parse_args()
    if subprocess.run(["nvidia-smi"], capture_output=True).returncode != 0:
        print("there is no GPU")
        return 77
    processors = sorted(os.sched_getaffinity(0))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for interval in options.intervals.split(","):
            for count in (2, 4):
                if len(processors) < count:
                    continue
                rows.append(recorded(options.tilescope, pathlib.Path(folder), interval, processors[-count:]))
                print("{interval:>7} {threads} thread(s): {samples} samples, {lost} lost ({share:.2%}), decoding {decoding_ns} ns, "
                      "evaluating {evaluating_ns} ns a sample".format(**rows[-1]), flush=True)
    failed = [row for row in rows if row["threads"] == 2 and microseconds(row["interval"]) >= 100 and row["share"] > MOST_LOST]
    print(json.dumps({"rows": rows, "failures": len(failed)}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
