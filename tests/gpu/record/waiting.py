#!/usr/bin/env python3
"""What GPUs wait for in real programs, and what reading stacks costs.

usage: waiting.py --tilescope PROGRAM [--only PROGRAMS] [--pairs N] [--loader-pairs N] [--full-pairs N] [--faster N] [--keep FOLDER]
                  [--rate N]

Records programs whose host is the bottleneck (hf, generate, lightning, loop, loader, workers) and prints the first lines of
`show FILE waiting`, what their idle time goes to, and what advice says. A program whose packages are missing is left out.
Then N times by turns, bare: each program and what it is after its page's advice was followed (--faster).
Then blocks of steps of train.py, and of host_loop.py, which computes in Python, take turns, recorded with stacks and without
(`--host-samples off`), and the median of the paired ratios is printed with the order statistics that enclose it with a
probability of 95 %: of the blocks' median steps, of their quickest ones, which a busy host disturbs less, and of the processor
time of the program's threads. --loader-pairs does so for train.py with two processes that load its data, --full-pairs for
host_loop.py on two cores, on each of which another process computes.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

HEAD = """import os, sys, time, warnings
warnings.filterwarnings("ignore")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import torch
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(vocab_size=8192, hidden_size=768, intermediate_size=2048, num_hidden_layers=8,
                                        num_attention_heads=12, num_key_value_heads=4,
                                        max_position_embeddings=2048)).cuda().bfloat16()
"""
PROGRAMS = {
    "hf": """from transformers import Trainer, TrainingArguments
class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096
    def __getitem__(self, i):
        x = torch.randint(0, 8192, (256,))
        return dict(input_ids=x, labels=x)
arguments = TrainingArguments("/tmp/hf", max_steps=40, per_device_train_batch_size=8, bf16=True, logging_steps=20,
                              save_strategy="no", report_to=[], dataloader_num_workers=2, gradient_accumulation_steps=2)
Trainer(model=llama(), args=arguments, train_dataset=Tokens()).train()
""",
    "generate": """m = llama().eval()
x = torch.randint(0, 8192, (4, 128), device="cuda")
with torch.no_grad():
    for tokens in (8, 64):
        torch.cuda.synchronize()
        t = time.time()
        m.generate(x, max_new_tokens=tokens, do_sample=False, pad_token_id=0)
        torch.cuda.synchronize()
        print("generate of %d tokens: %.1f ms" % (tokens, (time.time() - t) * 1e3))
""",
    "lightning": """import lightning as L
class M(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = llama()
    def training_step(self, batch, i):
        return self.net(input_ids=batch, labels=batch).loss
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), fused=True)
L.Trainer(max_steps=20, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
          accelerator="gpu", devices=1).fit(M(), torch.utils.data.DataLoader(torch.randint(0, 8192, (512, 256)), batch_size=8, num_workers=2))
""",
    "loop": """m = llama()
o = torch.optim.AdamW(m.parameters(), fused=True)
x = torch.randint(0, 8192, (8, 256), device="cuda")
for _ in range(60):
    loss = m(input_ids=x, labels=x).loss
    loss.backward()
    o.step()
    o.zero_grad()
    torch.cuda.synchronize()
""",
    "loader": """import gc, logging, threading
logging.basicConfig(stream=open(os.devnull, "w"), level=logging.INFO)
class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096
    def __getitem__(self, i):
        return torch.tensor([j * i % 8192 for j in range(257)])
net = torch.nn.Sequential(torch.nn.Embedding(8192, 256), *[torch.nn.Linear(256, 256) for _ in range(16)], torch.nn.Linear(256, 8192)).cuda()
o = torch.optim.AdamW(net.parameters(), foreach=False)
kept = [[i] for i in range(300000)]
def compute(batch):
    return torch.nn.functional.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
def train(batch):
    loss = compute(batch.cuda())
    loss.backward()
    o.step()
    o.zero_grad()
    return loss.item()
for i, batch in enumerate(torch.utils.data.DataLoader(Tokens(), batch_size=8)):
    value = train(batch)
    logging.info("step %d loss %f", i, value)
    if i % 10 == 9:
        gc.collect()
    if i == 60:
        break
""",
}
PROGRAMS["workers"] = """class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 16
    def __getitem__(self, i):
        return self.augment(self.decode(i)), i % 10
    def decode(self, i):
        return [(i * 31 + j) % 256 for j in range(3 * 64 * 64)]
    def augment(self, values):
        return torch.tensor(values, dtype=torch.float32).reshape(3, 64, 64).flip(2)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(10)).cuda()
net(torch.zeros(1, 3, 64, 64, device="cuda"))
o = torch.optim.SGD(net.parameters(), 1e-3)
started = None
for i, (x, y) in enumerate(torch.utils.data.DataLoader(Pictures(), batch_size=64, num_workers=2, pin_memory=True)):
    if i == 10:
        torch.cuda.synchronize()
        started = time.time()
    loss = torch.nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
    loss.backward()
    o.step()
    o.zero_grad()
    if i == 70:
        break
torch.cuda.synchronize()
print("measured: %.2f ms a step" % ((time.time() - started) * 1e3 / 60))
"""
# What each program is after its page was followed: text to replace, and by what.
FASTER = {
    "generate": ("m = llama().eval()\n", "torch.backends.cuda.enable_cudnn_sdp(False)\nm = llama().eval()\n"),
    "workers": ("[(i * 31 + j) % 256 for j in range(3 * 64 * 64)]", "(i * 31 + torch.arange(3 * 64 * 64)) % 256"),
    "loader": ("torch.tensor([j * i % 8192 for j in range(257)])", "torch.arange(257) * i % 8192"),
    "loop": ("m = llama()\n", "m = llama()\nm.compile()\n"),
}
# Each program prints its time as "measured: …".
MEASURED = {
    "generate": PROGRAMS["generate"].replace("generate of %d tokens: %.1f ms", "measured: %d tokens in %.1f ms"),
    "workers": PROGRAMS["workers"],
    "loader": PROGRAMS["loader"].replace("    value = train(batch)\n",
                                         "    if i == 10:\n        started = time.time()\n    value = train(batch)\n")
    + 'print("measured: %.2f ms a step" % ((time.time() - started) * 1e3 / 51))\n',
    "loop": PROGRAMS["loop"].replace("for _ in range(60):\n",
                                     "for i in range(60):\n    if i == 20:\n        started = time.time()\n")
    + 'print("measured: %.2f ms a step" % ((time.time() - started) * 1e3 / 40))\n',
}


def faster(options, folder):
    """Times the programs before and after, by turns and bare."""
    for name, (old, new) in FASTER.items():
        if name not in options.only.split(","):
            continue
        before = MEASURED[name]
        if old not in before:
            raise RuntimeError("the text to replace is not in " + name)
        for turn in range(options.faster):
            for what, text in (("before", before), ("after", before.replace(old, new))):
                script = folder / ("%s_%s.py" % (name, what))
                script.write_text(HEAD + text)
                done = subprocess.run([sys.executable, str(script)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      timeout=options.limit, cwd=folder)
                told = [line[10:] for line in done.stdout.splitlines() if line.startswith("measured: ")]
                print("%s %s, turn %d, status %d: %s" % (name, what, turn + 1, done.returncode, "; ".join(told) or done.stdout[-300:]),
                      flush=True)


def record(options, name, folder):
    script = folder / (name + "_program.py")  # another name than that of a package
    script.write_text(HEAD + PROGRAMS[name])
    file = folder / (name + ".tscope")
    done = subprocess.run([options.tilescope, "record", "--host-samples", str(options.rate), "-o", str(file), "--", sys.executable, str(script)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=options.limit, cwd=folder)
    print("== %s: status %d" % (name, done.returncode), flush=True)
    if done.returncode != 0 or not file.exists():
        print(done.stdout[-600:], flush=True)
        return
    for line in done.stdout.splitlines():
        if line.startswith(("generate of", "measured: ")):
            print(line)
    show = [options.tilescope, "show", str(file)]
    for words, lines in ((["waiting", "--limit", "8"], 20), (["waiting", "--group", "innermost", "--limit", "6"], 14),
                         (["waiting", "--group", "cause"], 20), (["waiting", "--group", "place", "--limit", "3"], 8)):
        printed = subprocess.run([*show, *words], text=True, capture_output=True, env=dict(os.environ, COLUMNS="150"))
        print("\n".join((printed.stdout + printed.stderr).splitlines()[:lines]), flush=True)
    rows = json.loads(subprocess.run([*show, "advice", "--format", "json"], text=True, capture_output=True).stdout or "[]")
    for row in rows:
        if row.get("sentence"):
            print("advice:", row["rule"], row["sentence"])
    for row in json.loads(subprocess.run([*show, "environment", "--format", "json"], text=True, capture_output=True).stdout or "[]"):
        if row["key"].startswith("record.host") or row["key"] in ("record.folder", "record.packages", "record.missed"):
            print(row["key"], row["value"], flush=True)


def median_interval(ratios):
    ordered, count, below, tail = sorted(ratios), len(ratios), -1, 0.0
    while below + 1 < count // 2 and tail + math.comb(count, below + 1) / 2 ** count <= 0.025:
        below += 1
        tail += math.comb(count, below) / 2 ** count
    low, high = (ordered[below], ordered[count - 1 - below]) if below >= 0 else (0.0, math.inf)
    return "%.4f [%.4f, %.4f]" % (statistics.median(ordered), low, high)


class Load:
    """Two cores for the programs that start within it, on each of which another process computes: cores that others use unequally
    make equal programs differ by a third."""

    def __enter__(self):
        self.cores = os.sched_getaffinity(0)
        two = sorted(self.cores)[:2]
        os.sched_setaffinity(0, two)
        self.busy = [subprocess.Popen([sys.executable, "-c", "import os\nos.sched_setaffinity(0, {%d})\nwhile True: sum(range(1000))" % core])
                     for core in two]

    def __exit__(self, *_):
        for each in self.busy:
            each.kill()
            each.wait()
        os.sched_setaffinity(0, self.cores)


class Turns:
    def __init__(self, options, folder, script, name, words):
        script, *more = script.split()
        train = [sys.executable, str(HERE / script), *more, "--turns", "--steps", "12"]
        name = script.partition(".")[0] + "_" + name
        command = train if words is None else [options.tilescope, "record", *words, "-o", str(folder / (name + ".tscope")), "--", *train]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def wait(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
        raise RuntimeError("a program ended before its steps")

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError("a program ended in its steps")

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def cost(options, folder, script, pairs):
    variants = {"bare": None, "bare again": None, "stacks": ["--host-samples", str(options.rate)],
                "without stacks": ["--host-samples", "off"]}
    print("== cost on %s, %d cores" % (script, len(os.sched_getaffinity(0))), flush=True)
    turns = {name: Turns(options, folder, script, name.replace(" ", "_"), words) for name, words in variants.items()}
    for each in turns.values():
        each.wait()
    steps = {name: [] for name in turns}
    for pair in range(pairs):
        order = list(turns)
        order = order[pair % 4:] + order[:pair % 4]
        for name in order:
            steps[name].append(turns[name].turn())
    for each in turns.values():
        each.end()
    for name, base in (("bare again", "bare"), ("without stacks", "bare"), ("stacks", "bare"), ("stacks", "without stacks")):
        for figure, words in (("step_ms", "median steps"), ("quiet_ms", "quickest steps"), ("own_ms", "processor time")):
            ratios = [a[figure] / b[figure] for a, b in zip(steps[name], steps[base])]
            print("%s / %s, %s: %s of %d blocks, %.3f ms" % (name, base, words, median_interval(ratios), len(ratios),
                                                            statistics.median(each[figure] for each in steps[name])), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--pairs", type=int, default=40, help="blocks of each kind; 0: none")
    parser.add_argument("--loader-pairs", type=int, default=0, help="blocks of each kind with processes that load data")
    parser.add_argument("--full-pairs", type=int, default=0, help="blocks of each kind on two full cores")
    parser.add_argument("--faster", type=int, default=0, help="turns of the programs before and after their page was followed")
    parser.add_argument("--no-record", action="store_true", help="records none of the programs")
    parser.add_argument("--rate", type=int, default=500, help="samples a second")
    parser.add_argument("--limit", type=int, default=60, help="seconds of a program")
    parser.add_argument("--keep", help="folder of the recordings")
    options = parser.parse_args()
    options.tilescope = str(pathlib.Path(options.tilescope).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in () if options.no_record else filter(None, options.only.split(",")):
            try:
                record(options, name, folder)
            except Exception as failure:
                print(name, "failed:", failure, flush=True)
        if options.faster:
            faster(options, folder)
        for script in ("train.py", "host_loop.py") if options.pairs else ():
            cost(options, folder, script, options.pairs)
        if options.loader_pairs:
            cost(options, folder, "train.py --workers 2", options.loader_pairs)
        if options.full_pairs:
            with Load():
                cost(options, folder, "host_loop.py", options.full_pairs)


if __name__ == "__main__":
    main()
