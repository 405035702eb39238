#!/usr/bin/env python3
"""Runs every command in README.md, the help pages and the programs' help as written and in order,
each page in a separate folder.

usage: tests/pages/commands.py SOURCE BUILD STUDIES [PAGE …]
SOURCE   the source tree
BUILD    the build folder, whose bin holds the programs
STUDIES  a recording of `study:all --quick`; created if it does not exist
PAGE     these alone: README.md, batch.md, --help
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD, STUDIES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
WANTED = sys.argv[4:]
HELP = "--help"
LIMIT = 600  # seconds for one command, which then ends with exit code 124; those of hours are in NOT_RUN

# --- commands that are not run, with the reason -----------------------------------------------------------------------------

BUILDS = "builds or installs with apt and the network; tests packaging.* and CI do"
WINDOW = "opens the window, which needs a display; ui_no_display and window do"
LONG = "takes a GPU, or hours of a CPU; studies.quick runs the small edition"
CLUSTER = "needs a cluster's disk, scheduler or network; tests packaging.bundle and slurm.* do"
PYTHON = "needs a whole PyTorch; tests exchange.memory_viz, studies.package and record do"
COMPILES = "compiles models for minutes; test studies.inductor does"
PACKAGES = "needs packages of PyPI; the scripts tests/exchange/*_check.py use them"
GPU = "needs a GPU of that number"
GPU_NEEDED = "needs a GPU; test record_inside does without one"
TIMED = "its exit code depends on the times of this machine; cli.Compare does"
HOST = "needs another machine; test on_host does"
NOT_RUN = {
    "README.md": {
        "packaging/dev gui": BUILDS,
        "build/bin/tilescope --batch study:all -o all.tscope && build/bin/tilescope report all.tscope -o writeup": LONG,
        "packaging/dev demo": BUILDS,
        "packaging/dev test": BUILDS,
        "packaging/dev bundle": BUILDS,
        "packaging/dev bundle --window": BUILDS,
        "packaging/dev deb": BUILDS,
        "packaging/dev wheel": BUILDS,
        "build/bin/tilescope record -o train.tscope -- python train.py": PYTHON,
        "build/bin/tilescope rank0.json.gz rank1.json.gz": WINDOW,
        "build/bin/tilescope a.tscope": WINDOW,
        "slurm/submit -n 16 -o results sweep.yaml --gres=gpu:1 --time=08:00:00": CLUSTER,
    },
    "compare.md": {
        "tilescope compare --measure \"base/bin/step --size 1024\" \"change/bin/step --size 1024\" --gate 3% --format md > comparison.md": "needs programs of the user; cli.CompareMeasure does",
        "tilescope compare --measure base.yaml change.yaml --repeat 10 --gate 3% --format md > comparison.md": TIMED,
        "tilescope compare --measure \"python train.py\" \"python train.py --compile\" --repeat 10": PYTHON,
    },
    "batch.md": {
        "tilescope --batch study:attention-grid -o grid.tscope": LONG,
        "tilescope --batch study:all -o all.tscope --resume": LONG,
    },
    "cluster.md": {
        "packaging/dev bundle": BUILDS,
        "tar -xf tilescope-0.1.0.tar.gz -C /shared": CLUSTER,
        "source <(tilescope completion bash)": CLUSTER,
        "/shared/tilescope-0.1.0/bin/tilescope doctor": CLUSTER,
        "python3 -m venv /shared/venv && /shared/venv/bin/pip install torch==2.11.0": CLUSTER,
        "export TILESCOPE_TORCH=$(echo /shared/venv/lib/python3*/site-packages/torch)": CLUSTER,
        "slurm/submit -n 16 -o results sweep.yaml --gres=gpu:h100:1 --time=08:00:00": CLUSTER,
        "apptainer build tilescope.sif containers/tilescope.def": CLUSTER,
        "apptainer run --nv tilescope.sif doctor": CLUSTER,
    },
    "doctor.md": {"tilescope doctor --ceilings --device cuda:1": GPU},
    "export.md": {
        "python -c \"from hta.trace_analysis import TraceAnalysis; print(TraceAnalysis(trace_dir='.').get_gpu_kernel_breakdown())\"": PACKAGES,
        "tilescope export t.tscope --arrow tables": "needs PyArrow; test python.arrow has a stand-in",
        "python -c \"import pandas; print(pandas.read_feather('tables/kernels.arrow').groupby('name', observed=True).size())\"": PACKAGES,
    },
    "ranks.md": {
        "sbatch --nodes=2 --ntasks-per-node=8 --gres=gpu:8 slurm/ranks.sbatch run lm --size xl-2026 --mode train --parallel fsdp --gpus 16": CLUSTER,
    },
    "hosts.md": {
        "tilescope hosts check gpubox": HOST,
        "tilescope run lm --size tiny --mode train --on gpubox -o a.tscope": HOST,
        "tilescope record --on gpubox --cwd project -o t.tscope -- python train.py": HOST,
        "tilescope show gpubox:project/t.tscope kernels": HOST,
        "tilescope hosts check gpubox --format json": HOST,
        "tilescope hosts jobs gpubox": HOST,
        "tilescope hosts attach gpubox 5f0c8e5d0f4b4c0f9a6b1c2d3e4f5061 -o a.tscope": HOST,
        "tilescope --batch sweep.yaml -o a.tscope --on cluster": HOST,
        "tilescope compare gpubox:runs/a.tscope:1 a.tscope:1": HOST,
        "tilescope merge gpubox:runs/a.tscope gpubox:runs/b.tscope -o all.tscope": HOST,
    },
    "memory.md": {"python -m torch.cuda._memory_viz trace_plot a.pickle -o a.html": PYTHON},
    "predictor.md": {
        "packaging/dev bench predict --again tests/bench/results/predictor-h200.json": BUILDS,
        "packaging/dev bench predict --again tests/bench/results/predictor-h200.json --cross": BUILDS,
    },
    "python.md": {
        "pip install app/python": BUILDS,
        "pip install tilescope-0.1.0/share/tilescope/python": BUILDS,
        "export PYTHONPATH=$PWD/tilescope-0.1.0/share/tilescope/python": BUILDS,
    },
    "record.md": {
        "tilescope record -o t.tscope -- python train.py": PYTHON,
        "tilescope record --stop 4711": "needs a program that is being recorded; test record does",
        "tilescope record --start 4711": "needs a program that is being recorded; test record does",
        "tilescope record --build-plugin": PYTHON,
        "tilescope record -o t.tscope -- torchrun --nproc-per-node=2 train.py": GPU,
    },
    "faster.md": {
        "tilescope record --inside --metrics --sources -o a.tscope -- python train.py": GPU_NEEDED,
        "tilescope show a.tscope inside --kernel flash_fwd --group reason": GPU_NEEDED,
        "tilescope show a.tscope inside --kernel flash_fwd": GPU_NEEDED,
        "tilescope show a.tscope metrics": GPU_NEEDED,
    },
    "inside.md": {
        "tilescope run attention --mode forward --backend flash --inside true -o a.tscope": GPU_NEEDED,
        "tilescope record --inside -o a.tscope -- python train.py": GPU_NEEDED,
        "tilescope show a.tscope inside": GPU_NEEDED,
        "tilescope show a.tscope inside --kernel flash_fwd": GPU_NEEDED,
        "tilescope show a.tscope inside --kernel flash_fwd --group reason": GPU_NEEDED,
        "tilescope show a.tscope inside --step 12": GPU_NEEDED,
        "tilescope show b.tscope inside --kernel flash_fwd --against a.tscope": GPU_NEEDED,
        "tilescope show b.tscope inside --against a.tscope --group reason": GPU_NEEDED,
    },
    "waiting.md": {
        "tilescope record -o a.tscope -- python train.py": PYTHON,
        "tilescope show a.tscope waiting": PYTHON,
        "tilescope show a.tscope tree --weight idle": PYTHON,
        "tilescope export a.tscope --folded idle.txt --weight idle": PYTHON,
        "tilescope show a.tscope waiting --group cause --step 1": PYTHON,
    },
    "generation.md": {
        "tilescope record -o a.tscope -- python serve.py": PYTHON,
        "tilescope show a.tscope generation": PYTHON,
        "tilescope show a.tscope generation --group type": PYTHON,
        "tilescope show a.tscope generation --group batch --format json": PYTHON,
    },
    "metrics.md": {
        "tilescope record --metrics -o a.tscope -- python train.py": GPU,
        "tilescope show a.tscope metrics": GPU,
        "tilescope show a.tscope metrics --group family": GPU,
        "tilescope show a.tscope metrics --group step --format json": GPU,
    },
    HELP: {
        "tilescope record -o t.tscope -- python train.py": PYTHON,
        "tilescope compile sweep.yaml --set compile=inductor": COMPILES,
    },
    "study-compiled.md": {
        "tilescope run attention --mode forward --compile '[none, \"package:naive.pt2\"]' -o compiled.tscope": PYTHON,
    },
    "study-fp8.md": {
        "tilescope --batch study:fp8 -o fp8.tscope": LONG,
    },
    "study-compilers.md": {
        "tilescope compile study:compilers": LONG,
        "tilescope --batch study:compilers -o compilers.tscope": LONG,
        "tilescope compile step.yaml --set compile=inductor": COMPILES,
        "tilescope --batch step.yaml --set 'compile=[fused, inductor]' -o step.tscope": COMPILES,
    },
    "writeup.md": {
        "tilescope --batch study:all -o all.tscope --resume": LONG,
        "tilescope all.tscope": WINDOW,
    },
}
# Lines of code blocks that are not shell commands: specs, JSON, Python, program output, formulas.
NO_COMMAND = re.compile(r"^(\w+:|- \{|\{\"|\"\w+\"|import |\w+ = |torch\.|\w+\.yaml:\d|MFU )")
# Files that exist at the beginning of a page.
GIVEN = {
    "README.md": ["bad.yaml", "rank0.json.gz", "rank1.json.gz"],
    "batch.md": ["sweep.yaml"],
    "cluster.md": ["sweep.yaml"],
    "compare.md": ["sweep.yaml", "naive.yaml", "sdpa.yaml", "eager.json.gz", "compiled.json.gz"],
    "export.md": ["rank0.json.gz", "rank1.json.gz"],
    "import.md": ["rank0.json.gz", "rank1.json.gz"],
    "predictor.md": ["sweep.yaml", "h200.tscope"],
    "ranks.md": ["rank0.json.gz", "rank1.json.gz"],
    HELP: ["sweep.yaml", "t.tscope", "study.tscope", "s0.tscope", "s1.tscope", "snapshot.pickle", "rank0.json.gz",
           "rank1.json.gz"],
}
# Files that skipped commands would create, for later commands.
# One study stands in for all of them: studies.quick writes the report on all.
STANDS_IN = {"tilescope --batch study:all -o all.tscope --resume": "study.tscope",
             "tilescope --batch study:fp8 -o fp8.tscope": "fp8.tscope"}
# The test studies.quick runs these sweeps with this command: their recording is copied, and the command makes a plan alone.
STUDY_SWEEP = re.compile(r"--batch study:(all|ddp) --quick .*-o (\S+)$")

TEXTS = {
    "sweep.yaml": "workload: attention\ndevice: cpu\nsteps: 2\nfixed: {batch: 1}\nsweep: {seq_len: [32, 64, 96]}\n",
    "naive.yaml": "workload: attention\ndevice: cpu\nsteps: 3\nbatch: 1\nseq_len: 64\n",
    "sdpa.yaml": "workload: attention\ndevice: cpu\nsteps: 3\nbatch: 1\nseq_len: 64\nbackend: sdpa\n",
    "bad.yaml": "workload: attention\nsteps: 3\nfixed:\n  bacth: 4\n",
}

failures = []


def fail(where, text):
    failures.append(f"{where}: {text}")
    print(f"FAILED {failures[-1]}", flush=True)


# --- pages ---------------------------------------------------------------------------------------------------------------


def blocks_of(text):
    """The indented code blocks of a page as lists of (line number, line); fenced ones are SQL and Python."""
    block, fenced, after = [], False, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line.startswith("    ") and line.strip():
            block.append((number, line[4:]))
            continue
        if block:
            after.append(block)
            block = []
    return after + ([block] if block else [])


def without_comment(line):
    """A command without its trailing comment."""
    return re.sub(r"\s{2,}# .*$", "", line).strip()


class Command:
    def __init__(self, where, text, expected=""):
        self.where, self.text, self.expected = where, text, expected


def parts_of(page, text):
    """Specs (as text) and commands of a page in order."""
    for block in blocks_of(text):
        lines = [line for _, line in block]
        where = f"{page}:{block[0][0]}"
        if re.match(r"(name|workload): ", lines[0]):
            yield "\n".join(lines) + "\n"
        elif lines[0].startswith("$ "):
            yield Command(where, lines[0][2:].strip(), "\n".join(lines[1:]))
        else:
            for number, line in block:
                if NO_COMMAND.match(line.strip()):
                    continue
                yield Command(f"{page}:{number}", without_comment(line))


def help_commands(programs):
    """The examples of the programs' own help."""
    def said(*words):
        return subprocess.run([programs / "tilescope", *words], text=True, stdout=subprocess.PIPE, check=True).stdout

    overview = said("--help")
    commands = re.findall(r"^ {12,}(tilescope .*)$", overview, re.M)
    for verb in re.findall(r"^  (\S+) +\S.*\n +tilescope ", overview, re.M):
        text = said("help", verb)
        commands += re.findall(r"^example: (.*)$", text, re.M) + re.findall(r"^ {6,}(tilescope .*)$", text, re.M)
    # Commands that remove runs come last; commands that already occurred are not repeated.
    order = {"delete": 1, "compact": 2}
    unique = list(dict.fromkeys(without_comment(command) for command in commands))
    return [Command(HELP, text) for text in sorted(unique, key=lambda text: order.get(text.split()[1], 0))]


# --- running -------------------------------------------------------------------------------------------------------------


class Reader:
    """Runs the commands of a page in a separate folder."""

    def __init__(self, page, folder, programs, given):
        self.page, self.folder, self.given = page, folder, given
        folder.mkdir()
        (folder / "build").mkdir()
        (folder / "build/bin").symlink_to(programs)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("XDG_", "QT_")) and name not in ("DISPLAY", "WAYLAND_DISPLAY", "COLUMNS")}
        self.environment.update(HOME=str(folder), PATH=f"{programs}:{os.environ['PATH']}", CUDA_VISIBLE_DEVICES="")
        for name in GIVEN.get(page, []):
            self.give(name)
        self.spec = ""
        self.seen = set()

    def give(self, name):
        # The example of report works with the recording of any study.
        shutil.copy(self.given(name), self.folder / ("all.tscope" if name == "study.tscope" else name))

    def follow(self, part):
        if isinstance(part, str):
            self.spec = part
            return
        self.seen.add(part.text)
        if part.text in NOT_RUN.get(self.page, {}):
            if part.text in STANDS_IN:
                self.give(STANDS_IN[part.text])
            return
        # A spec on the page is the file that the next command names.
        for name in re.findall(r"--batch (\S+\.yaml)", part.text):
            if self.spec and not (self.folder / name).exists():
                (self.folder / name).write_text(self.spec)
        self.run(part)

    def run(self, command):
        text = command.text
        if sweep := STUDY_SWEEP.search(text):
            shutil.copy(self.given("all.tscope"), self.folder / sweep[2])
            text += " --dry-run"
        # studies.quick writes this report; without it, the first of several equal ones counts.
        if report := re.fullmatch(r"\S*tilescope report \S+ -o (\S+)", text):
            if self.given.report.is_dir():
                shutil.copytree(self.given.report, self.folder / report[1])
                return
            self.given.report = self.folder / report[1]
        # Calibrating takes a fixed time and depends on the machine alone, whatever the file is called.
        if "doctor" in text:
            kind = re.sub(r" -o \S+", " -o FILE", text)
            if kind in self.given.ran:
                return
            self.given.ran.add(kind)
        began = time.monotonic()
        ended = subprocess.run(["timeout", str(LIMIT), "bash", "-o", "pipefail", "-c", text], cwd=self.folder,
                               env=self.environment, stdin=subprocess.DEVNULL, text=True, capture_output=True)
        print(f"{time.monotonic() - began:5.1f} s  {command.where}: {command.text}", flush=True)
        self.judge(command, ended)

    def judge(self, command, ended):
        allowed = [2] if command.expected else [0]
        words = shlex.split(command.text, comments=True)
        if "doctor" in words:
            allowed.append(4)  # this machine may lack something, or be too busy to be calibrated
        if ended.returncode not in allowed:
            fail(command.where, f"{command.text}: exit {ended.returncode}: {(ended.stdout + ended.stderr)[-600:]}")
        elif allowed == [0] and "tilescope" in command.text and not (ended.stdout + ended.stderr).strip() \
                and not re.search(r" > |tilescope (note|tag|delete) |--charts", command.text):
            fail(command.where, f"{command.text}: printed nothing")
        shown = command.expected.split("…")[0].strip()
        if shown not in ended.stdout + ended.stderr:
            fail(command.where, f"{command.text}: the page shows {shown!r}, it printed {(ended.stdout + ended.stderr)!r}")


class Given:
    """Prepared files: specs, recordings, a snapshot. Each is created on first use."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.report = STUDIES.parent / "writeup"  # on all studies
        self.ran = set()  # commands that are run once, whatever the page
        folder.mkdir()

    def run(self, *words):
        subprocess.run([self.programs / "tilescope", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def __call__(self, name):
        file = self.folder / name
        if not file.exists():
            self.make(name, file)
        return file

    def make(self, name, file):
        if name in TEXTS:
            file.write_text(TEXTS[name])
        elif name == "a.tscope":
            self.run("run", "attention", "--device", "cpu", "--batch", "1", "--seq-len", "[32, 64, 96]", "--steps", "3",
                     "-o", name)
            self.run("run", "lm", "--size", "tiny", "--context", "16", "--batch", "1", "--device", "cpu", "--steps", "3",
                     "--mode", "train", "--shapes", "true", "-o", name)
        elif name == "snapshot.pickle":
            self.run("export", f"{self('a.tscope')}:1", "--snapshot", name)
        elif name.endswith(".json.gz"):
            trace = {"eager.json.gz": "ddp_rank0.json.gz", "compiled.json.gz": "compiled_graphs.json.gz"}.get(name, f"ddp_{name}")
            shutil.copy(SOURCE / "tests/data/kineto" / trace, file)
        elif name == "s1.tscope":
            self.run("import", self("snapshot.pickle"), "-o", name)
        elif name == "study.tscope":
            self.run("--batch", "study:accumulation", "--quick", "-o", name)
        elif name == "fp8.tscope":
            self.run("--batch", "study:fp8", "--quick", "-o", name)
        elif name == "all.tscope":
            if STUDIES.exists():
                shutil.copy(STUDIES, file)
            else:
                self.run("--batch", "study:all", "--quick", "-o", name)
        else:  # h200.tscope, s0.tscope, t.tscope
            shutil.copy(self("a.tscope"), file)


def main():
    programs = BUILD / "bin"
    pages = {"README.md": (SOURCE / "README.md").read_text()}
    pages.update((file.name, file.read_text()) for file in sorted((SOURCE / "resources/help").glob("*.md")))
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        given = Given(scratch / "given", programs)
        ran = 0
        for page in [*pages, HELP]:
            if WANTED and page not in WANTED:
                continue
            parts = list(parts_of(page, pages[page])) if page != HELP else help_commands(programs)
            if not any(isinstance(part, Command) for part in parts):
                continue
            reader = Reader(page, scratch / f"of {page}", programs, given)
            for part in parts:
                reader.follow(part)
            ran += len(reader.seen)
            for text in NOT_RUN.get(page, {}).keys() - reader.seen:
                fail(page, f"{text}: is listed as not run, and no line says it")
        for page in NOT_RUN.keys() - {*pages, HELP}:
            fail(page, "is listed, and there is no such page")
    print(f"{ran} commands, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
