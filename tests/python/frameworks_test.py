"""Programs of the frameworks that people train with, on the CPU and without downloads: what is recorded must equal what the
framework's own hooks count. TILESCOPE_FRAMEWORKS names the Python that has the frameworks; what it lacks is skipped.

`packaging/dev stress frameworks` installs all (packaging/frameworks*.lock) and runs all (TILESCOPE_STRESS=1). `packaging/dev test`
installs those of packaging/frameworks.lock and runs what takes little time.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import recordings

HAS_ENGINE = os.environ.get("TILESCOPE_HAS_ENGINE", "").upper() in ("1", "ON", "TRUE")
PYTHON = os.environ.get("TILESCOPE_FRAMEWORKS", sys.executable)
stress = unittest.skipUnless(os.environ.get("TILESCOPE_STRESS") == "1", "takes long; packaging/dev stress frameworks runs it")

# Counts the calls of modules and the steps as a program does, and prints them.
COUNTS = r'''
import atexit, json, os
calls = {"modules": 0, "steps": 0}

def _count(kind):
    calls[kind] += 1

def count_modules(model):
    for module in model.modules():
        module.register_forward_hook(lambda *_: _count("modules"))

def count_step():
    _count("steps")

def tell():
    # In one piece: ranks share the output.
    print("COUNTS " + json.dumps(calls) + "\n", end="", flush=True)
'''

MODEL = '''
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 8)), batch_size=4)
'''

PLAIN = MODEL + '''
import counts
counts.count_modules(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def train():
    for (batch,) in data:
        optimizer.zero_grad(); model(batch).square().mean().backward(); optimizer.step(); counts.count_step()
    counts.tell()
'''

TRAINER = '''
import warnings; warnings.filterwarnings("ignore")
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
import sys, tempfile, torch, counts
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=128, n_positions=32))
counts.count_modules(model)
class Steps(TrainerCallback):
    def on_step_end(self, *_, **__): counts.count_step()
data = [{"input_ids": torch.randint(0, 128, (16,)), "labels": torch.randint(0, 128, (16,))} for _ in range(24)]
arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=5, per_device_train_batch_size=4, report_to=[],
                              disable_tqdm=True, use_cpu=True, save_strategy="no", logging_strategy="no")
Trainer(model=model, args=arguments, train_dataset=data, callbacks=[Steps()]).train()
counts.tell()
'''

GENERATE = '''
import warnings; warnings.filterwarnings("ignore")
from transformers import GPT2Config, GPT2LMHeadModel
import torch, counts
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=128, n_positions=64)).eval()
counts.count_modules(model)
model.generate(torch.ones(1, 4, dtype=torch.long), max_new_tokens=8, do_sample=False, pad_token_id=0)
counts.tell()
'''

ACCELERATE = MODEL + '''
import counts
from accelerate import Accelerator
counts.count_modules(model)
accelerator = Accelerator(cpu=True)
model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 0.1), data)
for (batch,) in data:
    if CLOSURE:
        def closure():
            optimizer.zero_grad(); loss = model(batch).square().mean(); accelerator.backward(loss); return loss
        optimizer.step(closure)
    else:
        optimizer.zero_grad(); accelerator.backward(model(batch).square().mean()); optimizer.step()
    counts.count_step()
counts.tell()
'''

LIGHTNING = '''
import logging, warnings; warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning as L
''' + MODEL + '''
import counts
class M(L.LightningModule):
    def __init__(self):
        super().__init__(); self.net = model; self.automatic_optimization = not MANUAL
    def training_step(self, batch, i):
        loss = self.net(batch[0]).square().mean()
        if not self.automatic_optimization:
            optimizer = self.optimizers(); optimizer.zero_grad(); self.manual_backward(loss); optimizer.step()
        return loss
    def on_train_batch_end(self, *_): counts.count_step()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)
m = M()
counts.count_modules(m)
L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False).fit(m, data)
counts.tell()
'''

LBFGS = MODEL + '''
import counts
counts.count_modules(model)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
for (batch,) in data:
    def closure():
        optimizer.zero_grad(); loss = model(batch).square().mean(); loss.backward(); return loss
    optimizer.step(closure); counts.count_step()
counts.tell()
'''

# Sharpness-aware minimisation: an optimizer that calls another one and evaluates the closure in its step.
SAM = MODEL + '''
import counts
counts.count_modules(model)
class SAM(torch.optim.Optimizer):
    def __init__(self, parameters, base):
        super().__init__(parameters, {}); self.base = base(self.param_groups)
    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        closure()
        moved = [(p, p.grad * 0.01) for g in self.param_groups for p in g["params"]]
        for p, e in moved: p.add_(e)
        self.zero_grad(); loss = closure()
        for p, e in moved: p.sub_(e)
        self.base.step(); return loss
optimizer = SAM(model.parameters(), lambda groups: torch.optim.SGD(groups, 0.1))
for (batch,) in data:
    def closure():
        loss = model(batch).square().mean(); loss.backward(); return loss
    optimizer.step(closure); optimizer.zero_grad(); counts.count_step()
counts.tell()
'''

# With an argument: the stage of ZeRO. Two calls of backward make a step.
DEEPSPEED = '''
import sys
import counts, deepspeed, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
stage = int(sys.argv[1])
config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_allow_untested_optimizer": True,
          "zero_optimization": {"stage": stage}, "bf16": {"enabled": stage > 0}}
engine, _, _, _ = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), 0.1), config=config)
counts.count_modules(engine)
for i in range(10):
    before = engine.global_steps
    engine.backward(engine(torch.randn(4, 8, dtype=torch.bfloat16 if stage else torch.float32)).float().square().mean())
    engine.step()
    if engine.global_steps > before:
        counts.count_step()
counts.tell()
torch.distributed.destroy_process_group()
'''

TIMM = '''
import torch, timm, timm.optim, counts
model = timm.create_model("resnet10t", pretrained=False, num_classes=4)
counts.count_modules(model)
optimizer = timm.optim.create_optimizer_v2(model, "lamb", lr=0.01)
for _ in range(3):
    optimizer.zero_grad(); model(torch.randn(2, 3, 64, 64)).sum().backward(); optimizer.step(); counts.count_step()
counts.tell()
'''

FSDP2 = '''
import torch, torch.distributed as dist, counts
from torch import nn
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
for layer in (model[0], model[2]): fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
counts.count_modules(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    optimizer.zero_grad(); model(torch.randn(4, 8)).sum().backward(); optimizer.step(); counts.count_step()
counts.tell()
dist.destroy_process_group()
'''

OPTAX = '''
import jax, jax.numpy as jnp, optax
parameters = {"w": jnp.ones((8, 1))}
optimizer = optax.sgd(0.1)
state = optimizer.init(parameters)
@jax.jit
def step(parameters, state, x):
    loss, gradients = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"]) ** 2))(parameters)
    updates, state = optimizer.update(gradients, state)
    return optax.apply_updates(parameters, updates), state, loss
for i in range(4):
    parameters, state, loss = step(parameters, state, jnp.full((4, 8), i + 1.0))
print("loss %.4f" % loss)
'''

RAY = '''
import logging, os
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, object_store_memory=80 * 1024 * 1024)
@ray.remote
def train():
    import sys
    sys.path.insert(0, FOLDER)
    import plain
    plain.train()
    return plain.counts.calls
print("COUNTS", __import__("json").dumps(ray.get(train.remote())))
ray.shutdown()
'''


@functools.lru_cache(maxsize=None)
def lacks(name):
    """The reason that a module cannot be imported; empty if it can."""
    found = subprocess.run([PYTHON, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)" % name],
                           capture_output=True, check=False)
    return "" if found.returncode == 0 else "%s has no %s" % (PYTHON, name)


@unittest.skipUnless(recordings.command_line() and HAS_ENGINE, "needs a build with the recorder")
class Frameworks(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        for_all = lacks("torch")
        if for_all:
            self.skipTest(for_all)
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True) if sys.version_info >= (3, 10) else tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("counts.py", COUNTS)
        self.write("plain.py", PLAIN)

    def need(self, *names):
        for name in names:
            if lacks(name):
                self.skipTest(lacks(name))

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def record(self, command, **variables):
        environment = dict(os.environ, HF_HUB_OFFLINE="1", **variables)
        environment["PATH"] = os.path.dirname(PYTHON) + os.pathsep + environment["PATH"]
        environment.pop("PYTHONPATH", None)
        (self.folder / "t.tscope").unlink(missing_ok=True)
        ran = subprocess.run([recordings.command_line(), "record", "-o", "t.tscope", "--", *command], cwd=self.folder, env=environment,
                             capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.said, self.printed = ran.stderr, ran.stdout
        counts = {"modules": 0, "steps": 0}
        # Several ranks and the libraries that they use share the output: a line of one may begin within that of another.
        for told in re.findall(r"COUNTS (\{[^}]*\})", ran.stdout):
            for kind, count in json.loads(told).items():
                counts[kind] += count
        return counts

    def ask(self, *words):
        ran = subprocess.run([recordings.command_line(), *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return json.loads(ran.stdout)

    def check(self, counts, phases=("forward", "backward", "optimizer")):
        """The recording has the program's steps and calls of modules, and the phases of a step."""
        self.assertGreater(counts["modules"], 0)
        calls = self.ask("sql", "t.tscope", "select count(*) as calls from range r join string s on s.id = r.name where s.text not in "
                         "('step', 'forward', 'backward', 'optimizer', 'data') and s.text not like 'step\\_%' escape '\\' "
                         "and s.text not like 'prefill[%' and s.text not like 'decode[%'",
                         "--format", "json")
        self.assertEqual(calls[0]["calls"], counts["modules"], self.said)
        if counts["steps"]:
            self.assertEqual(len(self.ask("show", "t.tscope", "steps", "--format", "json")), counts["steps"])
            ranges = {row["path"]: row["instances"] for row in self.ask("show", "t.tscope", "ranges", "--format", "json")}
            for phase in phases:
                self.assertIn("step/" + phase, ranges)
            self.assertFalse([path for path in ranges if path.startswith("step/optimizer/")], "optimizers contain nothing")
        self.assertNotIn("none of torch.nn's modules", self.said)

    def categories(self):
        return {row["key"]: row["max"] for row in self.ask("show", "t.tscope", "memory", "--group", "category", "--format", "json")}

    def test_trainer(self):
        self.need("transformers", "accelerate")
        self.check(self.record([PYTHON, self.write("program.py", TRAINER)]))
        categories = self.categories()
        for category in ("parameters", "gradients", "activations", "optimizer"):
            self.assertGreater(categories.get(category, 0), 0, categories)

    def test_generate(self):
        self.need("transformers")
        self.check(self.record([PYTHON, self.write("program.py", GENERATE)]))

    def test_accelerate(self):
        self.need("accelerate")
        for closure in ("False", "True"):
            self.check(self.record([PYTHON, self.write("program.py", ACCELERATE.replace("CLOSURE", closure))]))

    @stress
    def test_accelerate_launch(self):
        self.need("accelerate")
        program = self.write("program.py", ACCELERATE.replace("CLOSURE", "False"))
        self.check(self.record([PYTHON, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", program]))

    def test_lightning(self):
        self.need("lightning")
        categories = []
        for manual in ("False", "True"):
            self.check(self.record([PYTHON, self.write("program.py", LIGHTNING.replace("MANUAL", manual))]))
            categories.append({key: value for key, value in self.categories().items() if key in ("parameters", "gradients", "optimizer")})
        self.assertEqual(*categories)

    def test_closures(self):
        for text in (LBFGS, SAM):
            self.check(self.record([PYTHON, self.write("program.py", text)]))
            self.assertGreater(self.categories().get("gradients", 0), 0)

    def test_torchrun(self):
        text = PLAIN.replace("import counts\n", "import counts\ntorch.distributed.init_process_group('gloo')\nmodel = nn.parallel.DistributedDataParallel(model)\n")
        program = self.write("program.py", text + "train()\ntorch.distributed.destroy_process_group()\n")
        counts = self.record([PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", program])
        self.assertEqual(counts["steps"], 12, self.printed)
        self.check(counts)

    @stress
    def test_fsdp2(self):
        program = self.write("program.py", FSDP2)
        self.check(self.record([PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", program]))
        self.assertGreater(self.categories().get("parameters", 0), 0)

    def test_pytest(self):
        self.need("pytest")
        self.write("test_it.py", "import plain\ndef test_it(capsys):\n    with capsys.disabled(): print(); plain.train()\n")
        self.check(self.record([PYTHON, "-m", "pytest", "-q", "test_it.py"]))

    def test_nbconvert(self):
        self.need("nbconvert", "ipykernel")
        cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": "import plain\nplain.train()"}
        self.write("n.ipynb", json.dumps({"cells": [cell], "metadata": {"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}},
                                         "nbformat": 4, "nbformat_minor": 5}))
        self.record([PYTHON, "-m", "nbconvert", "--execute", "--to", "notebook", "--output", "out", "n.ipynb"])
        outputs = json.loads((self.folder / "out.ipynb").read_text())["cells"][0]["outputs"]
        told = next(line for output in outputs for line in "".join(output.get("text", "")).splitlines() if line.startswith("COUNTS "))
        self.check(json.loads(told[7:]))

    def test_zipapp(self):
        self.write("app/__main__.py", "import plain\nplain.train()\n")
        for name in ("plain.py", "counts.py"):
            self.write("app/" + name, (self.folder / name).read_text())
        subprocess.run([PYTHON, "-m", "zipapp", "app"], cwd=self.folder, check=True)
        self.check(self.record([PYTHON, "app.pyz"]))

    @stress
    def test_deepspeed(self):
        self.need("deepspeed")
        for stage in ("0", "1", "2"):
            self.check(self.record([PYTHON, self.write("program.py", DEEPSPEED), stage], MASTER_ADDR="127.0.0.1", MASTER_PORT="29531",
                                   RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", DS_ACCELERATOR="cpu"))

    @stress
    def test_timm(self):
        self.need("timm")
        self.check(self.record([PYTHON, self.write("program.py", TIMM)]))

    @stress
    def test_optax(self):
        self.need("jax", "optax")
        bare = subprocess.run([PYTHON, self.write("program.py", OPTAX)], cwd=self.folder, capture_output=True, text=True, check=True)
        ran = subprocess.run([recordings.command_line(), "record", "-o", "t.tscope", "--", PYTHON, "program.py"], cwd=self.folder,
                             capture_output=True, text=True, check=True)
        self.assertEqual(bare.stdout, ran.stdout)

    @stress
    def test_ray(self):
        self.need("ray")
        self.check(self.record([PYTHON, self.write("program.py", RAY.replace("FOLDER", repr(str(self.folder))))]))

    @stress
    def test_pex(self):
        self.need("pex")
        self.write("program.py", "import time; time.sleep(1)\nimport plain; plain.train()\n")
        for inherits, said in (("false", "options -I, -E and -S keep"), ("fallback", "PYTHONPATH was removed"), ("prefer", "PYTHONPATH was removed")):
            build = [PYTHON, "-m", "pex", "-D", ".", "-o", "p.pex", "--inherit-path=" + inherits, "--exe", "program.py", "--python", PYTHON]
            subprocess.run(build, cwd=self.folder, check=True, capture_output=True)
            bare, ran = (subprocess.run([*prefix, PYTHON, "p.pex"], cwd=self.folder, capture_output=True, text=True, check=False)
                         for prefix in ([], [recordings.command_line(), "record", "-o", "t.tscope", "--"]))
            # A file that ignores the environment does not find PyTorch either.
            self.assertEqual((bare.returncode, bare.stdout), (ran.returncode, ran.stdout), ran.stderr)
            self.assertEqual(ran.returncode, 1 if inherits == "false" else 0, ran.stderr)
            self.assertIn(said, ran.stderr)
        # The remedy: an environment of the file, to which this one's PyTorch is added.
        run = functools.partial(subprocess.run, cwd=self.folder, check=True, capture_output=True, text=True)
        run([PYTHON, "-m", "pex.tools", "p.pex", "venv", "venv"])
        torch = run([PYTHON, "-c", "import os, torch; print(os.path.dirname(torch.__path__[0]))"]).stdout
        next(self.folder.glob("venv/lib/python3*/site-packages")).joinpath("torch.pth").write_text(torch)
        self.check(self.record(["venv/bin/python", "venv/pex"]))

    @stress
    def test_uv_run(self):
        self.need("uv")
        self.write("program.py", "import plain\nplain.train()\n")
        self.check(self.record([PYTHON, "-m", "uv", "run", "--no-project", "--offline", "--python", PYTHON, "program.py"]))


if __name__ == "__main__":
    unittest.main()
