#!/usr/bin/env python3
"""A host with two GPUs, used over ssh: an OpenSSH server on this machine, whose users have another home folder and a bare PATH.

usage: tests/gpu/ranks/hosts.py --tilescope PROGRAM [--keep FOLDER] [--cpu]

Checks that `hosts check` lists both GPUs, that `run --on` with two ranks and `record --on` of torchrun bring home a file with two ranks of a
GPU each. Exit 1 where a check fails, 77 (skipped) without two GPUs, unless --cpu is given, or without sshd.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import loopback_host  # noqa: E402

failures = []


def check(holds, what, printed=""):
    print("%-5s %s" % ("ok" if holds else "WRONG", what), flush=True)
    if not holds:
        failures.append(what)
        print(str(printed)[-1500:], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--keep", type=pathlib.Path, help="folder of the results")
    parser.add_argument("--cpu", action="store_true", help="without GPUs")
    options = parser.parse_args()
    import torch

    if torch.cuda.device_count() < 2 and not options.cpu:
        print("skipped: needs two GPUs")
        return 77
    if missing := loopback_host.why_missing():
        print("skipped: %s" % missing)
        return 77
    folder = pathlib.Path(tempfile.mkdtemp())
    keep = (options.keep or folder).resolve()
    keep.mkdir(parents=True, exist_ok=True)
    try:
        with loopback_host.LoopbackHost(folder) as host:
            def tilescope(*words):
                began = time.monotonic()
                done = subprocess.run([options.tilescope, *map(str, words)], text=True, capture_output=True, env=host.environment, timeout=300)
                print("== %s: status %d, %.1f s" % (" ".join(map(str, words))[:140], done.returncode, time.monotonic() - began), flush=True)
                return done

            def show(file, *words):
                done = subprocess.run([options.tilescope, "show", file, *words, "--format", "json"], text=True, capture_output=True)
                return json.loads(done.stdout or "[]")

            python = pathlib.Path(sys.executable).parent
            multicast = "".join("; export %s=%s" % (name, os.environ[name]) for name in (
                "NCCL_NVLS_ENABLE", "TORCH_SYMM_MEM_DISABLE_MULTICAST", "NVSHMEM_DISABLE_NVLS") if name in os.environ)
            added = tilescope("hosts", "add", "gpubox", "--set-up", "export PATH=%s:$PATH%s" % (python, multicast))
            check(added.returncode == 0, "the host is added", added.stderr)
            checked = tilescope("hosts", "check", "gpubox")
            for line in checked.stdout.splitlines():
                print("     ", line[:160], flush=True)
            if not options.cpu:
                names = [torch.cuda.get_device_name(number) for number in range(2)]
                check(sum(checked.stdout.count(name) for name in set(names)) >= 2, "hosts check lists both GPUs", checked.stdout + checked.stderr)
            file = keep / "run_on.tscope"
            where = ["--device", "cpu", "--size", "tiny", "--threads", "1"] if options.cpu else ["--device", "cuda", "--size", "small", "--precision", "bf16"]
            done = tilescope("run", "lm", "--on", "gpubox", *where, "--context", "64", "--batch", "2", "--mode", "train", "--parallel", "ddp", "--gpus", "2",
                             "--steps", "3", "--trace-steps", "8", "-o", file)
            rows = show(file, "ranks")
            check(done.returncode == 0 and sorted({row["rank"] for row in rows}) == [0, 1], "run --on with two ranks: %d rows of ranks %s" % (
                len(rows), sorted({row["rank"] for row in rows})), done.stdout + done.stderr)
            file = keep / "record_on.tscope"
            done = tilescope("record", "--on", "gpubox", "-o", file, "--", "env", "STEPS=12", "SYNC=1", *(["WIDTH=64", "ROWS=32"] if options.cpu else []),
                             "python3", "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29671", HERE / "programs/train.py", "ddp")
            rows = show(file, "ranks")
            check(done.returncode == 0 and sorted({row["rank"] for row in rows}) == [0, 1], "record --on of torchrun: %d rows of ranks %s" % (
                len(rows), sorted({row["rank"] for row in rows})), done.stdout + done.stderr)
            if not options.cpu:
                for name in ("run_on", "record_on"):
                    found = subprocess.run([options.tilescope, "sql", keep / (name + ".tscope"), "select device, count(*) as count from kernels group by 1 order by 1",
                                            "--format", "json"], text=True, capture_output=True)
                    counts = {row["device"]: row["count"] for row in json.loads(found.stdout or "[]")}
                    check(sorted(counts) == [0, 1] and min(counts.values()) > 100, "%s: kernels by GPU: %s" % (name, counts), found.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%d of the checks failed" % len(failures) if failures else "all checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
