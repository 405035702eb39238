#!/usr/bin/env python3
"""Recordings of programs on two GPUs: what belongs to which rank and GPU.

usage: tests/gpu/ranks/recorded.py --tilescope PROGRAM [--only NAMES] [--keep FOLDER]

inside    DDP with --inside: the samples of both ranks add up to those of all, each rank has its own GPU's
delay     DDP whose rank 1 does nothing for 2 ms in each step: advice, ranks and waiting name it, and it is late by the delay
metrics   FSDP2 with --metrics: each rank has figures of its own GPU, none is lost
nvlink    all-reduces of 1 GiB with --metrics: bytes received and sent by NVLink as many as the algorithm moves
nccl      all-reduces with --inside: samples of NCCL's kernels, and those for which CUPTI names no kernel
both      DDP with --inside and --metrics, which take turns on both GPUs
one, fork, spawn   products on two GPUs by one process, by forked and by spawned ones, with --inside: as many on each GPU
serve_fork, serve_spawn   workers of an engine of a front end, ended by SIGTERM: as many products and all-reduces on each GPU
kill      one of two processes is killed: said, and what it did before is kept
killed_rank   rank 1 of two is killed after its last step: both are kept

Each recording must verify. Exit 1 where a check fails, 77 (skipped) with fewer than two GPUs, unless --cpu is given: the programs run on the
processor then, and what needs a GPU is said to lack.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COUNT = 100                   # of products.py
REDUCES, BYTES = 60, 2**30    # of exchange.py
REQUESTS, TOKENS, LAYERS = 8, 16, 4  # of workers.py
DELAY_MS = 2


class Check:
    def __init__(self, tilescope, folder, onGpu):
        self.tilescope, self.folder, self.onGpu, self.failed = tilescope, folder, onGpu, 0

    def that(self, holds, what, printed=""):
        print("%-5s %s" % ("ok" if holds else "WRONG", what), flush=True)
        if not holds:
            self.failed += 1
            print(str(printed)[-1500:], flush=True)

    def gpu(self, holds, what, printed=""):
        """A check of what only a GPU has."""
        if self.onGpu:
            self.that(holds, what, printed)
        else:
            print("lacks %s" % what, flush=True)

    def record(self, name, options, command, environment=None):
        file = self.folder / (name + ".tscope")
        began = time.monotonic()
        recording = subprocess.Popen([self.tilescope, "record", *options, "-o", str(file), "--", *command], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, start_new_session=True, env=dict(os.environ, OMP_NUM_THREADS="4", **(environment or {})))
        try:
            out, err = recording.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(recording.pid, signal.SIGTERM)  # torchrun ends its ranks, which are in sessions of their own
            try:
                out, err = recording.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(recording.pid, signal.SIGKILL)
                out, err = recording.communicate()
            self.that(False, "%s ends within 100 s" % name, err)
        done = subprocess.CompletedProcess(command, recording.returncode, out, err)
        print("== %s: status %d, %.1f s\n%s" % (name, done.returncode, time.monotonic() - began, "\n".join(
            line for line in done.stderr.splitlines() if line.startswith("tilescope record"))), flush=True)
        if done.stdout.strip():
            print(done.stdout.strip()[-300:], flush=True)
        verified = subprocess.run([self.tilescope, "verify", str(file)], text=True, capture_output=True)
        self.that(verified.returncode == 0, "%s verifies" % name, verified.stdout + verified.stderr + done.stderr[-1200:])
        return file, done

    def show(self, file, section, *options):
        done = subprocess.run([self.tilescope, "show", str(file), section, "--format", "json", *options], text=True, capture_output=True)
        if done.returncode:
            self.that(False, "show %s" % section, done.stderr.strip()[-300:])
        return json.loads(done.stdout or "[]")

    def text(self, file, section, *options):
        return subprocess.run([self.tilescope, "show", str(file), section, *options], text=True, capture_output=True,
                              env=dict(os.environ, COLUMNS="200")).stdout

    def sql(self, file, query):
        done = subprocess.run([self.tilescope, "sql", str(file), query, "--format", "json"], text=True, capture_output=True)
        if done.returncode:
            self.that(False, "sql", done.stderr.strip()[-300:])
        return json.loads(done.stdout or "[]")

    def facts(self, file):
        return {row["key"]: row["value"] for row in self.show(file, "environment")}

    def losses(self, file):
        rows = self.show(file, "losses")
        for row in rows:
            print("      %s %s" % (row.get("count"), row.get("detail")), flush=True)
        return rows


def torchrun(port, program, *words):
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port),
            str(HERE / "programs" / program), *words]


def samples_by_rank(check, file, name):
    samples = [sum(row["samples"] for row in check.show(file, "inside", *of)) for of in (["--rank", "0"], ["--rank", "1"], [])]
    check.gpu(min(samples) > 0 and samples[0] + samples[1] == samples[2], "%s: samples of rank 0, rank 1 and all: %s" % (name, samples))
    devices = [sum(row["samples"] for row in check.show(file, "inside", "--device", str(device))) for device in range(2)]
    check.gpu(devices == samples[:2], "%s: samples of GPU 0 and 1: %s" % (name, devices))


def lateness(check, file):
    """How late rank 1 was in the typical steps in which it was last, in the median, ms; in how many steps each rank was last."""
    late, last = [], {}
    for row in check.show(file, "ranks"):
        if row["typical"] and row["last"]:
            last[row["rank"]] = last.get(row["rank"], 0) + 1
            if row["rank"] == 1:
                late.append(row["late_ns"])
    return statistics.median(late) / 1e6 if late else 0, last


def inside(check):
    file, _ = check.record("inside", ["--inside"], torchrun(29612, "train.py", "ddp"), {"SYNC": "1"})
    samples_by_rank(check, file, "inside")
    check.gpu(not check.losses(file), "inside: nothing is lost")


def delay(check):
    control, last = lateness(check, check.record("control", [], torchrun(29610, "train.py", "ddp"), {"SYNC": "1"})[0])
    print("      without a delay: rank 1 is late by %.2f ms; last in steps: %s" % (control, last), flush=True)
    file, _ = check.record("delay", [], torchrun(29611, "train.py", "ddp"), {"SYNC": "1", "DELAY_MS": str(DELAY_MS)})
    late = [row for row in check.show(file, "advice") if row["rule"] == "late-rank"]
    check.that(late and "rank 1 " in late[0]["sentence"], "advice: %s" % (late[0]["sentence"] if late else "no late rank"), late)
    found, last = lateness(check, file)
    check.gpu(0.75 * DELAY_MS <= found <= 1.4 * DELAY_MS and last.get(1, 0) > 0.9 * sum(last.values()),
              "delay of %d ms: rank 1 is late by %.2f ms in the median; last in steps: %s" % (DELAY_MS, found, last))
    said = [line for line in check.text(file, "ranks").splitlines() if line.startswith("Straggler")]
    check.that(said and "rank 1" in said[0], "ranks: %s" % said)
    text = check.text(file, "waiting", "--rank", "0")
    check.that("rank 1" in text, "waiting of rank 0 names rank 1: %s" % [line for line in text.splitlines() if "rank 1" in line], text)
    mine = [row for row in check.show(file, "waiting", "--rank", "1") if row["file"] and row["file"].endswith("train.py")]
    lines = (HERE / "programs/train.py").read_text().splitlines()
    idle = sum(row["idle_ns"] / max(1, row["steps"]) for row in mine
               if row["line"] and any(word in lines[row["line"] - 1] for word in ("until", "pass"))) / 1e6
    check.gpu(0.6 * DELAY_MS <= idle <= 1.5 * DELAY_MS, "waiting of rank 1: %.2f ms of a step at the lines of the delay" % idle, mine)


def metric_means(check, file, name, wanted=("sm_active", "tensor_active", "dram_read", "nvlink_in", "nvlink_out")):
    for rank in range(2):
        rows = [row for row in check.show(file, "metrics", "--group", "step", "--rank", str(rank)) if row["mean"] is not None]
        means = {}
        for row in rows:
            means.setdefault(row["metric"], []).append(row["mean"])
        check.gpu(all(metric in means for metric in wanted), "%s, rank %d, mean of steps: %s" % (
            name, rank, ", ".join("%s %.4g" % (metric, statistics.mean(values)) for metric, values in means.items())), means)


def metrics(check):
    file, _ = check.record("metrics", ["--metrics"], torchrun(29613, "train.py", "fsdp"), {"WIDTH": "4096", "ROWS": "8192"} if check.onGpu else None)
    metric_means(check, file, "metrics")
    for rank in range(2):
        rows = [row for row in check.show(file, "metrics", "--group", "family", "--rank", str(rank))
                if row["metric"] == "sm_active" and row["mean"] is not None]
        check.gpu(rows, "metrics, rank %d: SM active %s" % (rank, ", ".join("%s %.1f %% (n %d)" % (row["family"], row["mean"], row["n"])
                                                                            for row in rows)))
    check.gpu(not check.losses(file), "metrics: nothing is lost")


def nvlink(check):
    file, _ = check.record("nvlink", ["--metrics"], torchrun(29616, "exchange.py"),
                           {"COUNT": str(REDUCES), "BYTES": str(BYTES)} if check.onGpu else {"COUNT": "3", "BYTES": "1000000"})
    for rank in range(2):
        rows = [row for row in check.show(file, "metrics", "--group", "family", "--rank", str(rank)) if row["family"] == "collective"]
        for metric in ("nvlink_in", "nvlink_out"):
            row = next((row for row in rows if row["metric"] == metric), None)
            share = row and row["bytes"] and row["bytes"] / (REDUCES * BYTES)
            check.gpu(share and 0.95 <= share <= 1.05, "nvlink, rank %d: %s %s of the bytes that the algorithm moves (n %s, %s GB/s)" % (
                rank, metric, share and "%.4f" % share, row and row["n"], row and row["mean"] and "%.1f" % (row["mean"] / 1e9)), row)
    check.gpu(not check.losses(file), "nvlink: nothing is lost")


def nccl(check):
    """CUPTI gives no kernel for functions that kernels call by address: what NCCL computes with is such a function."""
    file, _ = check.record("nccl", ["--inside"], torchrun(29617, "exchange.py"), {} if check.onGpu else {"COUNT": "3", "BYTES": "1000000"})
    kernels = sum(row["samples"] for row in check.show(file, "inside") if "nccl" in row["kernel"])
    others = sum(int(row["value"]) for row in check.show(file, "environment") if row["key"].startswith("record.inside_others"))
    notes = [line for line in check.text(file, "inside").splitlines() if "names no kernel" in line]
    check.gpu(kernels + others > 0 and bool(notes) == (others > 0.05 * (others + kernels)), "nccl: %d samples in its kernels, %d without a kernel: %s" % (
        kernels, others, notes[0][:120] if notes else "not said"))


def both(check):
    file, _ = check.record("both", ["--inside", "--metrics"], torchrun(29614, "train.py", "ddp"),
                           {"WIDTH": "4096", "ROWS": "8192", "STEPS": "240"} if check.onGpu else {"STEPS": "10", "WIDTH": "256"})
    print("      record.turns: %s" % check.facts(file).get("record.turns"), flush=True)
    samples_by_rank(check, file, "both")
    metric_means(check, file, "both")
    check.gpu(not check.losses(file), "both: nothing is lost")


def work_by_device(check, file, condition):
    rows = check.sql(file, "select device, count(*) as count from kernels where %s group by 1 order by 1" % condition)
    return {row["device"]: row["count"] for row in rows}


def products(how):
    def check_products(check):
        file, done = check.record(how, ["--inside"], [sys.executable, str(HERE / "programs/products.py"), how])
        found = work_by_device(check, file, "name not like '%elementwise%'")
        if how == "kill":
            check.gpu(found.get(0) == COUNT and COUNT // 3 <= found.get(1, 0) <= COUNT // 2 + 1, "kill: products by GPU: %s" % found)
            check.that("has no end" in done.stderr, "the killed process is named", done.stderr)
            return
        check.gpu(found == {0: COUNT, 1: COUNT}, "%s: products by GPU: %s" % (how, found))
        devices = [sum(row["samples"] for row in check.show(file, "inside", "--device", str(device))) for device in range(2)]
        check.gpu(min(devices) > 0 and max(devices) < 1.5 * min(devices), "%s: samples by GPU: %s" % (how, devices))
    return check_products


def serve(how, port):
    def check_serving(check):
        file, done = check.record("serve_" + how, [], [sys.executable, str(HERE / "programs/workers.py"), how], {"PORT": str(port)})
        check.that("served %d by [0, 1] exit 0" % REQUESTS in done.stdout, "serve_%s: all requests are served" % how, done.stdout + done.stderr[-500:])
        count = REQUESTS * TOKENS * LAYERS
        reduces = work_by_device(check, file, "name like '%AllReduce%'")
        check.gpu(reduces == {0: count, 1: count}, "serve_%s: all-reduces by GPU: %s" % (how, reduces))
        others = work_by_device(check, file, "name like '%gemm%' or name like '%gemv%' or name like '%nvjet%' or name like '%cutlass%'")
        check.gpu(others and others.get(0) == others.get(1) and others.get(0, 0) >= count, "serve_%s: products by GPU: %s" % (how, others))
    return check_serving


def killed_rank(check):
    file, done = check.record("killed_rank", [], torchrun(29615, "train.py", "ddp", "kill"))
    check.that(done.returncode != 0, "killed_rank: torchrun fails as it does alone: status %d" % done.returncode)
    check.that("has no end" in done.stderr, "killed_rank: the killed process is named", done.stderr)
    steps = {}
    for row in check.show(file, "ranks"):
        steps[row["rank"]] = steps.get(row["rank"], 0) + 1
    check.that(steps.get(0, 0) >= 39 and steps.get(1, 0) >= 20, "killed_rank: steps by rank: %s" % steps)


CHECKS = {"inside": inside, "delay": delay, "metrics": metrics, "nvlink": nvlink, "nccl": nccl, "both": both,
          **{how: products(how) for how in ("one", "fork", "spawn", "kill")},
          "serve_fork": serve("fork", 29651), "serve_spawn": serve("spawn", 29652), "killed_rank": killed_rank}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--only", default=",".join(CHECKS))
    parser.add_argument("--keep", help="folder of the recordings")
    parser.add_argument("--cpu", action="store_true", help="without GPUs")
    options = parser.parse_args()
    import torch

    if torch.cuda.device_count() < 2 and not options.cpu:
        print("skipped: needs two GPUs")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(str(pathlib.Path(options.tilescope).resolve()), folder, not options.cpu)
        for name in options.only.split(","):
            CHECKS[name](check)
    print("%d of the checks failed" % check.failed if check.failed else "all checks passed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
