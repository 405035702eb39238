#!/usr/bin/env python3
"""Records CPU programs with other versions of PyTorch; the recordings of all versions must hold the same.

usage: record_versions.py --tilescope PROGRAM PYTHON…

Each PYTHON is the interpreter of an environment with a PyTorch from PyPI, 2.0 to 2.11. Builds the plug-in for each into
a cache of its own. Prints one line for each check and version; exits with 1 if one fails. Run by hand: ctest uses the
pinned PyTorch only (record_test.cpp).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = (pathlib.Path(__file__).resolve().parents[1] / "data/record/train.py").read_text()
DDP = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""
SPAWN = """
import torch.multiprocessing as mp, train
def work(rank):
    train.main()
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""
FORK = """
import os, train
train.main()
if os.fork() == 0:
    train.main()
    os._exit(0)
os.wait()
"""


def script(call="layer(x)", prepare="model", workers="0"):
    return SCRIPT.replace("x = CALL", "x = " + call).replace("= PREPARE", "= " + prepare).replace("=WORKERS", "=" + workers)


class Checks:
    def __init__(self, tilescope, python, folder):
        self.tilescope, self.python, self.folder = tilescope, python, folder
        self.failed = 0
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        self.version = self.run([python, "-c", "import torch; print(torch.__version__)"]).stdout.strip()

    def run(self, command):
        return subprocess.run([str(word) for word in command], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, timeout=600, check=False)

    def check(self, holds, what, more=""):
        print(f"{'passed' if holds else 'FAILED'}: {self.version}: {what}{'' if holds else ': ' + str(more)}", flush=True)
        self.failed += not holds

    def record(self, text, *options, command=None):
        file = self.folder / "t.tscope"
        file.unlink(missing_ok=True)
        (self.folder / "train.py").write_text(script())
        (self.folder / "program.py").write_text(text)
        return self.run([self.tilescope, "record", "-o", file, *options, "--", *(command or [self.python, "program.py"])])

    def show(self, *what):
        said = self.run([self.tilescope, "show", "t.tscope", *what, "--format", "json"])
        return json.loads(said.stdout) if said.returncode == 0 else []

    def paths(self):
        return {row["path"] for row in self.show("ranges")}

    def fact(self, key):
        return next((row["value"] for row in self.show("environment") if row["key"] == key), "")

    def check_compiled(self, text):
        (self.folder / "compiled.py").write_text(text)
        bare = self.run([self.python, "compiled.py"])
        if bare.returncode != 0:
            print(f"skipped: {self.version}: compiled modules: without Tilescope: {bare.stderr.splitlines()[-1]}", flush=True)
            return
        ran = self.record(text)
        self.check(ran.returncode == 0 and len(self.show("steps")) == 3, "compiled modules", ran.stderr)

    def all(self):
        modules = {"step/forward/Model/layers.0/attention", "step/backward", "step/optimizer", "step/data"}
        ran = self.record(script())
        self.check(ran.returncode == 0 and modules <= self.paths(), "modules", ran.stderr + str(self.paths()))
        self.check("memory is not recorded: there is no plug-in" in self.fact("record.memory") or "2.11" in self.version,
                   "missing plug-in is stated", self.fact("record.memory"))
        self.check(len(self.show("steps")) == 3, "steps", len(self.show("steps")))
        checkpoint = "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)"
        ran = self.record(script(checkpoint))
        self.check("step/backward/Model/layers.0/attention" in self.paths(), "checkpointed modules", ran.stderr)
        self.check_compiled(script(prepare="torch.compile(model, backend='eager')"))
        ran = self.record(script(workers="2"))
        self.check(len(self.show("steps")) == 3, "silent workers of data loaders", ran.stderr)
        ran = self.record(FORK)
        self.check(ran.returncode == 0 and len(self.show("steps")) == 3, "fork", ran.stderr)
        ran = self.record(SPAWN)
        self.check(ran.returncode == 0 and len(self.show("steps")) == 6, "mp.spawn", ran.stderr)
        ran = self.record(DDP, command=[self.python, "-m", "torch.distributed.run", "--nproc-per-node=2", "program.py"])
        ranks = self.run([self.tilescope, "sql", "t.tscope", "select group_concat(rank) from process where rank is not null"])
        self.check(ran.returncode == 0 and len(self.show("steps")) == 6, "torchrun", ran.stderr[-1000:] + ranks.stdout)
        reduced = [(row["bytes"], row["ranks"], row["missing_count"]) for row in self.show("collectives")
                   if row["op"] == "all_reduce" and row["step"] is not None]
        self.check(reduced == [(80, 2, 0)] * 3, "collectives", reduced)
        built = self.run([self.tilescope, "record", "--build-plugin", "--", self.python])
        self.check(built.returncode == 0, "build of the plug-in", built.stderr[-2000:])
        ran = self.record(script(), "--ops")
        self.check("plug-in" in self.fact("record.memory") and "plug-in" in self.fact("record.ops"), "plug-in is used",
                   ran.stderr)
        counts = {row["name"]: row["instances"] for row in self.show("ops")}
        self.check(counts.get("aten::linear") == 6 and counts.get("AddmmBackward0") == 6, "ops", counts)
        shapes = self.run([self.tilescope, "sql", "t.tscope",
                           "select distinct s.text from op o join string s on s.id = o.shapes join string n on n.id = o.name"
                           " where n.text = 'aten::linear'"])
        self.check("f32[4, 8] f32[8, 8] f32[8]" in shapes.stdout, "shapes of ops", shapes.stdout + shapes.stderr)
        backward = {event["path"] for event in self.show("memory") if (event["path"] or "").startswith("step/backward/")}
        self.check("step/backward/Model/layers.0/attention" in backward, "backward of modules", backward)
        categories = {row["key"]: row["max"] for row in self.show("memory", "--group", "category")}
        self.check(categories.get("parameters") == 576 and categories.get("gradients") == 576, "memory", categories)
        return self.failed


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tilescope", required=True)
    options.add_argument("python", nargs="+")
    options = options.parse_args()
    failed = 0
    for python in options.python:
        with tempfile.TemporaryDirectory() as folder:
            failed += Checks(os.path.abspath(options.tilescope), python, pathlib.Path(folder)).all()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
