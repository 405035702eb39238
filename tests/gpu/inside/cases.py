#!/usr/bin/env python3
"""Records programs in which sampling has a hard time with `--inside` or `--metrics`: each must end as without recording, and either there
are samples or a sentence says why there are none.

Several contexts, threads and processes, spawned and forked workers, modules that are unloaded, CUDA graphs, a device that is reset, an end
in the midst of work; other
profilers in the program (torch.profiler, CUPTI's range profiler, Proton, ncu) or beside it; a user without privileges; older CUPTI.

    python tests/gpu/inside/cases.py --tilescope PROGRAM --keep FOLDER [--cuda FOLDER...] [--only NAMES]

Each folder after --cuda holds the libraries of the wheels nvidia-cuda-runtime and nvidia-cuda-cupti of a version, as cuda_versions.py of
../record takes them. Prints what was found; exit status 1 if a case is wrong.
"""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = HERE.parent / "record" / "cuda_versions.py"
SECONDS = 40  # of a program, if --timeout does not say otherwise

TORCH = """
import torch
a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16); x = torch.randn(1 << 24, device="cuda")
def work(n):
    for _ in range(n): torch.mm(a, a); x.mul_(1.0001)
    torch.cuda.synchronize()
work(3)
"""
PROGRAMS = {
    "torch-profiler": TORCH + """
with torch.profiler.profile() as p: work(400)
print("kernels seen by torch.profiler:", sum(e.count for e in p.key_averages() if "mul" in e.key) > 0)
work(400)
""",
    "range-profiler": TORCH + """
c = torch._C._profiler._ExperimentalConfig(profiler_metrics=["sm__cycles_active.avg"], profiler_measure_per_kernel=True)
with torch.profiler.profile(experimental_config=c) as p: work(20)
work(400)
print("range profiler ended")
""",
    "proton": TORCH + """
import triton.profiler as proton
s = proton.start("PROTON", hook="triton")
work(400)
proton.finalize()
print("proton ended")
""",
    "proton-sampling": TORCH + """
import triton.profiler as proton
s = proton.start("PROTON", backend="cupti", mode="pcsampling")
work(400)
proton.finalize()
print("proton ended")
""",
    # Another thread launches without a pause, also where the recording of a part ends; a daemon even at the end.
    "other-thread": TORCH + """
import threading
ends = False
def launch():
    y = torch.zeros(64, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        while not ends: y.add_(1)
thread = threading.Thread(target=launch, daemon=DAEMON); thread.start()
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3); b = torch.randn(256, 1024, device="cuda")
for _ in range(400):
    model(b).square().mean().backward(); optimizer.step(); optimizer.zero_grad()
torch.cuda.synchronize()
if not DAEMON: ends = True; thread.join()
print("trained", flush=True)
""",
    # Workers that use the GPU beside their parent.
    "spawn": """
import multiprocessing, torch
def work(rounds):
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(rounds): torch.mm(a, a)
    torch.cuda.synchronize()
if __name__ == "__main__":
    work(2000)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(10000,)) for _ in range(2)]
    for worker in workers: worker.start()
    work(10000)
    for worker in workers: worker.join()
    work(2000)
    print("workers ended with", [worker.exitcode for worker in workers])
""",
    # Workers that use the GPU before their parent does, and one that leaves it alone after.
    "fork": """
import os, torch
def work(rounds):
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(rounds): torch.mm(a, a)
    torch.cuda.synchronize()
def forked(call):
    worker = os.fork()
    if worker == 0:
        call()
        os._exit(0)
    return worker
workers = [forked(lambda: work(5000)) for _ in range(2)]
ends = [os.waitpid(worker, 0)[1] for worker in workers]
work(5000)
worker = forked(lambda: torch.randn(512, 512) @ torch.randn(512, 512))
work(5000)
print("workers ended with", ends, os.waitpid(worker, 0)[1])
""",
    "torch": TORCH + """
import time
end = time.time() + SECONDS
while time.time() < end: work(50)
print("torch ended")
""",
}
failures = []


def run(words, seconds=None, **options):
    """With all of its processes ended where it takes too long."""
    started = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, **options)
    try:
        out, err = started.communicate(timeout=seconds or SECONDS)
        return subprocess.CompletedProcess(words, started.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        out, err = started.communicate()
        return subprocess.CompletedProcess(words, "HANGS", out, err)


def told(text):
    """What a program prints but for numbers, paths and warnings."""
    return re.sub(r"[0-9.]*[0-9]|/\S+", "#", "\n".join(line for line in text.splitlines() if not line.startswith("==")))


class Recorded:
    def __init__(self, options, name, words, flags, environment=None, prefix=()):
        self.file = options.keep / f"case-{name}.tscope"
        self.file.unlink(missing_ok=True)
        self.tilescope = options.tilescope
        self.done = run([*prefix, options.tilescope, "record", "-o", self.file, *flags, "--no-memory", "--", *words], env=environment)
        self.said = [line for line in self.done.stderr.splitlines()
                     if line.startswith("tilescope record:") and not line.startswith("tilescope record: run ")]
        facts = self.show("environment")
        self.facts = {row["key"]: row["value"] for row in facts}
        self.sentences = [str(self.facts[key]) for key in ("record.inside", "record.metrics", "record.device", "record.turns")
                          if key in self.facts]
        self.inside = self.show("inside")
        self.metrics = self.show("metrics")
        self.losses = {row["kind"]: row["count"] for row in self.show("losses")}
        self.verified = run([self.tilescope, "verify", self.file]).returncode if self.file.exists() else None

    def show(self, *what):
        if not self.file.exists():
            return []
        done = run([self.tilescope, "show", self.file, *what, "--format", "json"])
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else []

    def samples(self, part=""):
        return sum(row["samples"] for row in self.inside if part in row["kernel"])

    def text(self):
        counted = sum(1 for row in self.metrics if row.get("mean") is not None)
        others = sum(int(value) for key, value in self.facts.items() if key.startswith("record.inside_others"))
        return (f"status {self.done.returncode}, {self.samples():,} samples of {len(self.inside)} kernels, {others:,} of none, "
                f"{counted} means of metrics, "
                f"losses {json.dumps(self.losses)}, verify {self.verified}"
                + "".join(f"\n      said: {line}" for line in [*self.said, *self.sentences]))


def judge(name, bare, recorded, extra=(), wants="either"):
    wrong = list(extra)
    if bare is not None and bare.returncode != recorded.done.returncode:
        wrong.append(f"status {bare.returncode} bare and {recorded.done.returncode} recorded: {recorded.done.stderr[-600:]}")
    if bare is not None and told(bare.stdout) != told(recorded.done.stdout):
        wrong.append(f"bare {bare.stdout[-300:]!r}, recorded {recorded.done.stdout[-300:]!r}")
    if recorded.verified not in (0, None):
        wrong.append("verify finds damage")
    if "HANGS" in recorded.done.stdout:
        wrong.append("it hangs")
    has = recorded.samples() > 0 or bool(recorded.metrics)
    if not has and (wants == "samples" or not (recorded.sentences or recorded.said)):
        wrong.append("no samples" + ("" if wants == "samples" else " and no sentence"))
    print(("WRONG " if wrong else "ok    ") + f"{name}: bare {bare.returncode if bare is not None else '-'}; {recorded.text()}", flush=True)
    for line in wrong:
        print("      WRONG " + line, flush=True)
    if wrong:
        failures.append(name)


def compiled(options):
    folder = options.keep
    if (folder / "cases").exists():
        return folder / "cases"
    toolkit = pathlib.Path(shutil.which("nvcc") or sys.exit("there is no nvcc")).resolve().parents[1]
    for words in (["-o", folder / "cases", HERE / "cases.cu", f"-L{toolkit}/lib64/stubs", "-L/usr/local/nvidia/lib64", "-lcuda"], ["-cubin", "-DALPHA", "-o", folder / "alpha.cubin", HERE / "modules.cu"],
                  ["-cubin", "-o", folder / "beta.cubin", HERE / "modules.cu"]):
        done = run(["nvcc", "-lineinfo", "-arch=sm_90", *words], 120)
        if done.returncode != 0:
            sys.exit(done.stderr)
    return folder / "cases"


def dominant(recorded, kernel):
    rows = [row for row in recorded.show("inside", "--kernel", kernel, "--group", "reason") if row["stall"]]
    return max(rows, key=lambda row: row["samples"])["reason"] if rows else None


def cuda_programs(options):
    program = compiled(options)
    modules = [options.keep / "alpha.cubin", options.keep / "beta.cubin"]
    names = [name for name in ("contexts", "reset", "processes", "unload", "threads", "graph", "exit")
             if not options.only or name in options.only]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        bares = list(pool.map(lambda name: run([program, name, *modules]), names))
    for name, bare in zip(names, bares):
        words = [program, name, *modules]
        recorded = Recorded(options, name, words, ["--inside"])
        extra = []
        if name in ("contexts", "unload"):
            reasons = {kernel: dominant(recorded, kernel) for kernel in ("alpha_work", "beta_work")}
            # Of two contexts one is sampled.
            if None in reasons.values() and (name == "unload" or not any("first context" in text for text in recorded.sentences)):
                extra.append(f"reasons {reasons}")
            if reasons["beta_work"] not in (None, "short_scoreboard") or reasons["alpha_work"] == "short_scoreboard":
                extra.append(f"reasons {reasons}")
            lines = recorded.show("inside", "--group", "line")
            known = sum(row["samples"] for row in lines if row["line"])
            if known < 0.95 * recorded.samples():
                extra.append(f"{known} samples with a line")
            print(f"      {name}: alpha {recorded.samples('alpha'):,} {reasons['alpha_work']}, beta {recorded.samples('beta'):,} "
                  f"{reasons['beta_work']}, {known:,} with a line", flush=True)
        if name == "processes" and not any("another process" in text for text in recorded.sentences):
            extra.append("no sentence on the other process")
        # What is killed or leaves at once has at least its launches.
        judge(name, bare, recorded, extra, "either" if name == "exit" else "samples")


def workers(options):
    for name in ("spawn", "fork"):
        if options.only and name not in options.only:
            continue
        script = options.keep / f"{name}.py"
        script.write_text(PROGRAMS[name])
        bare = run([sys.executable, script])
        for flags in (["--inside"], ["--inside", "--metrics"]):
            judge(f"{name} {' '.join(flags)}", bare, Recorded(options, name + "".join(flags), [sys.executable, script], flags), (), "samples")


def parts_of_a_program(options):
    """The recording of a part ends while the program launches."""
    if options.only and "parts" not in options.only:
        return
    program = compiled(options)
    bare = run([program, "long"])
    for flags in (["--seconds", "2"], ["--delay", "1"]):
        judge("long " + " ".join(flags), bare, Recorded(options, "long", [program, "long"], ["--inside", *flags]), (), "samples")
    for daemon, flags in (("False", ["--steps", "100:200"]), ("False", ["--metrics"]), ("True", [])):
        script = options.keep / "other-thread.py"
        script.write_text(PROGRAMS["other-thread"].replace("DAEMON", daemon))
        bare = run([sys.executable, script])
        recorded = Recorded(options, "other-thread", [sys.executable, script], ["--inside", *flags])
        judge(f"other thread, daemon {daemon}, {' '.join(flags)}", bare, recorded)


def rivals(options):
    for name, text in PROGRAMS.items():
        if name in ("torch", "other-thread", "spawn", "fork") or (options.only and name not in options.only):
            continue
        if name.startswith("proton") and not importlib.util.find_spec("triton.profiler"):
            print(f"skip  {name}: this Triton has no profiler", flush=True)
            continue
        script = options.keep / f"{name}.py"
        script.write_text(text.replace("PROTON", str(options.keep / name)))
        bare = run([sys.executable, script])
        if bare.returncode != 0:
            print(f"skip  {name}: does not work bare: {bare.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        for flag in ("--inside", "--metrics"):
            judge(f"{name} {flag}", bare, Recorded(options, f"{name}{flag}", [sys.executable, script], [flag]))


def ncu(options):
    if (options.only and "ncu" not in options.only) or not shutil.which("ncu"):
        return
    program = compiled(options)
    profiler = ["ncu", "--clock-control", "none", "--launch-count", "3", "--metrics", "sm__cycles_active.avg", "--target-processes", "all"]
    words = [*profiler, program, "reset"]
    bare = run(words)
    for flag in ("--inside", "--metrics"):
        recorded = Recorded(options, f"ncu{flag}", words, [flag])
        # As where nothing is sampled: it refuses to run in a program that the recorder is loaded into, and says so.
        refuses = "CUDA_INJECTION64_PATH" in recorded.done.stdout + recorded.done.stderr
        judge(f"ncu in the program {flag}{', which refuses to start' if refuses else ''}", None if refuses or bare.returncode else bare, recorded)
    for flag in ("--inside", "--metrics"):
        recorded = Recorded(options, f"in-ncu{flag}", [program, "reset"], [flag], None, profiler)
        refuses = "CUDA_INJECTION64_PATH" in recorded.done.stdout + recorded.done.stderr
        # Of what ncu prints, only that the program ran to its end is compared.
        extra = [] if refuses or (recorded.done.returncode == 0 and "done" in recorded.done.stdout.splitlines()) else [
            f"status {recorded.done.returncode}, {recorded.done.stdout[-600:]!r}, {recorded.done.stderr[-600:]!r}"]
        judge(f"a recorded program in ncu {flag}{', which refuses to start it' if refuses else ''}", None, recorded, extra)


def beside(options):
    """Another recording samples the device at the same time."""
    if options.only and "beside" not in options.only:
        return
    script = options.keep / "work.py"
    script.write_text(PROGRAMS["torch"].replace("SECONDS", "5"))
    for first, second in (("--metrics", "--metrics"), ("--metrics", "--inside"), ("--inside", "--metrics"), ("--inside", "--inside")):
        file = options.keep / "case-first.tscope"
        file.unlink(missing_ok=True)
        other = subprocess.Popen([options.tilescope, "record", "-o", str(file), first, "--no-memory", "--", sys.executable, str(script)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(3)
        recorded = Recorded(options, f"beside{second}", [sys.executable, script], [second])
        out = other.communicate()[0]
        extra = [] if other.returncode == 0 and "torch ended" in out else [f"the first one ended with {other.returncode}: {out[-400:]}"]
        if recorded.done.returncode != 0 or "torch ended" not in recorded.done.stdout:
            extra.append(f"the second one ended with {recorded.done.returncode}: {recorded.done.stderr[-400:]}")
        judge(f"{second} beside another recording with {first}", None, recorded, extra)
        print("      the first one: " + " | ".join(line for line in out.splitlines() if line.startswith("tilescope")), flush=True)


def unprivileged(options):
    if options.only and "unprivileged" not in options.only:
        return
    parameters = pathlib.Path("/proc/driver/nvidia/params")
    text = parameters.read_text() if parameters.exists() else ""
    print("      driver: " + (re.search(r"RmProfilingAdminOnly.*", text) or ["RmProfilingAdminOnly unknown"])[0], flush=True)
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("skip  unprivileged: not root, or no setpriv", flush=True)
        return
    program = compiled(options)
    folder = pathlib.Path("/tmp/tilescope-unprivileged")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    shutil.copy(program, folder / "cases")
    (folder / "cases").chmod(0o755)
    tilescope = pathlib.Path(options.tilescope)
    if (tilescope.parents[1] / "share").exists():  # an installed one, which other users may not reach where it is
        shutil.copytree(tilescope.parents[1], folder / "installed", symlinks=True)
        tilescope = folder / "installed" / "bin" / tilescope.name
    inner = argparse.Namespace(tilescope=str(tilescope), keep=folder)
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    environment = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": "", "TMPDIR": str(folder)}
    bare = run([*prefix, folder / "cases", "reset"], env=environment)
    for flags in (["--inside"], ["--metrics"], ["--inside", "--metrics"]):
        recorded = Recorded(inner, "unprivileged" + "".join(flags), [folder / "cases", "reset"], flags, environment, prefix)
        extra = [] if recorded.show("kernels") else ["no kernels were recorded"]
        judge("unprivileged " + " ".join(flags), bare, recorded, extra)


def versions(options):
    if not options.cuda:
        return
    fatbin = options.keep / "increase.fatbin"
    spec = importlib.util.spec_from_file_location("cuda_versions", VERSIONS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # The same kernel, with enough work for samples.
    source = options.keep / "increase.cu"
    source.write_text(module.SOURCE.replace("values[i] += 1;", "{ int a = values[i]; for (int k = 0; k < 20000; ++k) a = a * 3 % 65537;"
                                                               " values[i] += a >= 0 ? 1 : 2; }"))
    done = run(["nvcc", "-lineinfo", "-fatbin", "-no-compress", "-arch=sm_90", "-o", fatbin, source])
    if done.returncode != 0:
        sys.exit(done.stderr)
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for folder in options.cuda:
        name = pathlib.Path(folder).name
        words = [sys.executable, VERSIONS, "--program", os.path.abspath(folder), fatbin]
        bare = run(words, env=environment)
        if bare.returncode != 0:
            print(f"WRONG CUDA {name}: does not work bare: {bare.stderr.strip().splitlines()[-1:]}", flush=True)
            failures.append(f"CUDA {name}")
            continue
        for flag in ("--inside", "--metrics"):
            judge(f"CUDA {name} {flag}", bare, Recorded(options, f"cuda-{name}{flag}", words, [flag], environment))


def main():
    global SECONDS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", default="tilescope", type=os.path.abspath)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--cuda", nargs="*", default=[])
    parser.add_argument("--timeout", type=float, default=SECONDS)
    parser.add_argument("--only", type=lambda text: text.split(","), help="names: contexts, unload, …, spawn, parts, ncu, beside, unprivileged")
    options = parser.parse_args()
    SECONDS = options.timeout
    options.keep = options.keep.absolute()
    options.keep.mkdir(parents=True, exist_ok=True)
    for part in (cuda_programs, workers, parts_of_a_program, ncu, rivals, beside, unprivileged, versions):
        start = time.monotonic()
        part(options)
        print(f"      {part.__name__}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"{len(failures)} cases are wrong: {', '.join(failures)}" if failures else "all cases are right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
