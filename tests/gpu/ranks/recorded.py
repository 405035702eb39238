#!/usr/bin/env python3
"""Recordings of programs on two GPUs: what belongs to which rank and GPU.

usage: tests/gpu/ranks/recorded.py --tilescope PROGRAM [--only NAMES] [--keep FOLDER]

delay     DDP whose rank 1 sleeps 2 ms in each step: advice names it
inside    DDP with --inside: the samples of both ranks add up to those of all
metrics   FSDP2 with --metrics: each rank has figures of its own GPU
one, fork, spawn   products on two GPUs by one process, by forked and by spawned ones: as many on each GPU
kill      one of two processes is killed: said, and what it did before is kept

Each recording must verify. Exit 1 where a check fails, 77 (skipped) with fewer than two GPUs.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COUNT = 100  # of products.py


class Check:
    def __init__(self, tilescope, folder):
        self.tilescope, self.folder, self.failed = tilescope, folder, 0

    def that(self, holds, what, printed=""):
        print("%-5s %s" % ("ok" if holds else "WRONG", what), flush=True)
        if not holds:
            self.failed += 1
            print(str(printed)[-1500:], flush=True)

    def record(self, name, options, command, environment=None):
        file = self.folder / (name + ".tscope")
        done = subprocess.run([self.tilescope, "record", *options, "-o", str(file), "--", *command], text=True, capture_output=True,
                              timeout=120, env=dict(os.environ, OMP_NUM_THREADS="4", **(environment or {})))
        print("== %s: status %d\n%s" % (name, done.returncode, "\n".join(
            line for line in done.stderr.splitlines() if line.startswith("tilescope record"))), flush=True)
        verified = subprocess.run([self.tilescope, "verify", str(file)], text=True, capture_output=True)
        self.that(verified.returncode == 0, "%s verifies" % name, verified.stdout + verified.stderr)
        return file, done

    def show(self, file, section, *options):
        done = subprocess.run([self.tilescope, "show", str(file), section, "--format", "json", *options], text=True, capture_output=True)
        return json.loads(done.stdout or "[]")


def torchrun(port, *words):
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port),
            str(HERE / "programs/train.py"), *words]


def delay(check):
    file, _ = check.record("delay", [], torchrun(29611, "ddp"), {"DELAY_MS": "2"})
    late = [row for row in check.show(file, "advice") if row["rule"] == "late-rank"]
    check.that(late and "rank 1 " in late[0]["sentence"], "advice: %s" % (late[0]["sentence"] if late else "no late rank"), late)


def inside(check):
    file, _ = check.record("inside", ["--inside"], torchrun(29612, "ddp"))
    samples = [sum(row["samples"] for row in check.show(file, "inside", *of)) for of in (["--rank", "0"], ["--rank", "1"], [])]
    check.that(min(samples) > 0 and samples[0] + samples[1] == samples[2], "samples of rank 0, rank 1 and all: %s" % samples)


def metrics(check):
    file, _ = check.record("metrics", ["--metrics"], torchrun(29613, "fsdp"))
    for rank in range(2):
        rows = [row for row in check.show(file, "metrics", "--group", "family", "--rank", str(rank))
                if row["metric"] == "sm_active" and row["mean"] is not None]
        check.that(rows, "rank %d: SM active %s" % (rank, ", ".join("%s %.1f %% (n %d)" % (row["family"], row["mean"], row["n"])
                                                                   for row in rows)))
    for row in check.show(file, "losses"):
        print("     ", row.get("count"), row.get("detail"), flush=True)


def products(how):
    def check_products(check):
        file, done = check.record(how, [], [sys.executable, str(HERE / "programs/products.py"), how])
        counted = subprocess.run([check.tilescope, "sql", str(file), "select device, count(*) as count from kernels "
                                  "where name not like '%elementwise%' group by 1 order by 1", "--format", "json"], text=True, capture_output=True)
        found = {row["device"]: row["count"] for row in json.loads(counted.stdout or "[]")}
        if how == "kill":
            check.that(found.get(0) == COUNT and COUNT // 3 <= found.get(1, 0) <= COUNT // 2 + 1, "products by GPU: %s" % found,
                       counted.stderr)
            check.that("has no end" in done.stderr, "the killed process is named")
        else:
            check.that(found == {0: COUNT, 1: COUNT}, "products by GPU: %s" % found, counted.stderr)
    return check_products


CHECKS = {"delay": delay, "inside": inside, "metrics": metrics, **{how: products(how) for how in ("one", "fork", "spawn", "kill")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--only", default=",".join(CHECKS))
    parser.add_argument("--keep", help="folder of the recordings")
    options = parser.parse_args()
    import torch

    if torch.cuda.device_count() < 2:
        print("skipped: needs two GPUs")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(str(pathlib.Path(options.tilescope).resolve()), folder)
        for name in options.only.split(","):
            CHECKS[name](check)
    print("%d of the checks failed" % check.failed if check.failed else "all checks passed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
