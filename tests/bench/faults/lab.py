"""Shared by all fault tests: starts programs, watches and checks them, and collects the failures."""
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

EXIT_CODES = {0, 2, 3, 4, 130}  # the exit codes of tilescope
SPEC = """\
workload: attention
device: cpu
fixed: {batch: 1, heads: 1, d_head: 8, warmup: 1, steps: 2, trace_steps: 1}
sweep: {seq_len: [16, 32, 64], seed: [0, 1, 2, 3]}
"""
POINTS = 12


class Account:
    """Counts of attempts, and a sentence for each failure."""

    def __init__(self):
        self.tried = {}
        self.wrong = {"crashes": [], "hangs": [], "lost": []}
        self.notes = {}

    def count(self, what, by=1):
        self.tried[what] = self.tried.get(what, 0) + by

    def blame(self, kind, sentence):
        self.wrong[kind].append(sentence)
        print(f"{kind.upper()}: {sentence}", flush=True)

    def note(self, key, value):
        self.notes[key] = value
        print(f"{key}: {value}", flush=True)

    def take(self, summary):
        """Adds the account of another process."""
        for kind in self.wrong:
            self.wrong[kind] += [str(summary)] * summary.pop(kind, 0)
        for key, value in summary.items():
            if isinstance(value, int) and value and key != "seed":
                self.count(key, value)

    def summary(self):
        return {"kills": 0, "damaged": 0} | self.tried | {kind: len(reported) for kind, reported in self.wrong.items()} | self.notes


class Result:
    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return f"{' '.join(self.command[-6:])} -> exit {self.code}, said '{self.err.strip()[-300:]}'"


class Lab:
    """Programs under test, a folder to work in, a seeded random generator, the account."""

    def __init__(self, build, seed, patience, use_real=False, folder=None):
        self.build, self.use_real = build, use_real and (build / "bin" / "tilescope-engine").exists()
        self.tilescope = str(build / "bin" / "tilescope")
        self.engines = {"fake": build / "bin" / "fake_engine", "real": build / "bin" / "tilescope-engine"}
        self.fault_shim = build / "lib" / "libfault_shim.so"
        self.random = random.Random(seed)
        self.patience = patience
        self.account = Account()
        self._folder = tempfile.TemporaryDirectory(prefix="tilescope-faults-", dir=folder)
        self.folder = pathlib.Path(self._folder.name)
        self.folder.chmod(0o755)  # another user looks into it
        self.spec = self.folder / "sweep.yaml"
        self.spec.write_text(SPEC)

    def has(self, engine):
        return self.engines[engine].exists()

    def environment(self, engine="fake", extra=None):
        environment = {**os.environ, "TILESCOPE_ENGINE": str(self.engines[engine]), **(extra or {})}
        if engine == "fake":
            environment.pop("TILESCOPE_TORCH", None)  # it needs none, and another user may not read it
        return environment

    def shim(self, program="engine", **tricks):
        """The environment that loads our library before libc into programs of that name."""
        if not self.fault_shim.exists():
            return {}
        return {"LD_PRELOAD": str(self.fault_shim), "FAULT_PROGRAM": program} | {k: str(v) for k, v in tricks.items()}

    def batch(self, file, *options, spec=None):
        return [self.tilescope, "--batch", str(spec or self.spec), "-o", str(file), "--format", "json", *options]

    def start(self, command, engine="fake", extra=None):
        return Running(self, [str(word) for word in command], self.environment(engine, extra))

    def call(self, command, engine="fake", extra=None):
        """Runs a program to its end and checks how it ended."""
        return self.start(command, engine, extra).wait()

    def judge(self, result, by_us=False):
        """Checks that the program ended with a documented exit code, without a foreign signal or a message of a crash."""
        code = result.code
        if code not in EXIT_CODES and not (by_us and code == -signal.SIGKILL):
            self.account.blame("crashes", str(result))
        elif any(word in result.err for word in ("terminate called", "Sanitizer", "Assertion", "logic_error")):
            self.account.blame("crashes", str(result))
        return result

    def show(self, file, table="runs", *options):
        return self.call([self.tilescope, "show", file, table, "--format", "json", *options])

    def runs(self, file):
        """The runs of a file; none if it was refused in one sentence."""
        shown = self.show(file)
        if shown.code == 0:
            return json.loads(shown.out)
        self.require_sentence(shown)
        return None

    def require_sentence(self, result):
        lines = result.err.strip().splitlines()
        if len(lines) != 1 or len(lines[0]) < 15:
            self.account.blame("crashes", f"no clear sentence: {result}")

    def require_whole(self, file, what):
        """`verify` finds nothing wrong."""
        verified = self.call([self.tilescope, "verify", file])
        if verified.code != 0:
            self.account.blame("lost", f"{what}: verify says {verified.out.strip()[-300:]} {verified.err.strip()[-300:]}")

    def require_complete(self, file, what, engine="fake", points=POINTS, spec=None):
        """--resume completes every point exactly once and leaves one file whose checksums are right."""
        resumed = self.call(self.batch(file, "--resume", spec=spec), engine)
        if resumed.code != 0:
            return self.account.blame("lost", f"{what}: cannot be resumed: {resumed}")
        done = {}
        for run in self.runs(file) or []:
            if run["status"] in ("ok", "oom", "skipped"):
                key = json.dumps(run["params"], sort_keys=True)
                done[key] = done.get(key, 0) + 1
        if len(done) != points or set(done.values()) != {1}:
            self.account.blame("lost", f"{what}: after --resume {len(done)} of {points} points, runs each {set(done.values())}")
        self.require_whole(file, what)
        beside = [str(p.name) for p in file.parent.glob(file.name + "-*")]
        if beside:
            self.account.blame("lost", f"{what}: not one plain file: {beside}")


class Running:
    """A running program whose output goes to files."""

    def __init__(self, lab, command, environment):
        self.lab, self.command = lab, command
        self.out = tempfile.TemporaryFile(dir=lab.folder)
        self.err = tempfile.TemporaryFile(dir=lab.folder)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
                                        env=environment, cwd=lab.folder, start_new_session=True)

    def text(self, file):
        return os.pread(file.fileno(), 1 << 26, 0).decode(errors="replace")

    def events(self):
        """The whole lines of JSON that it has printed so far."""
        reported = self.text(self.out)
        return [json.loads(line) for line in reported[: reported.rfind("\n") + 1].splitlines()]

    def until(self, condition):
        """Waits until its events satisfy a condition; false if it ended before."""
        deadline = time.monotonic() + self.lab.patience
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            if condition(self.events()):
                return True
            if ended:
                return False
            time.sleep(0.002)
        self.lab.account.blame("hangs", f"{' '.join(self.command[-6:])} did not come so far")
        return False

    def wait(self, by_us=False):
        try:
            self.process.wait(self.lab.patience)
        except subprocess.TimeoutExpired:
            self.lab.account.blame("hangs", " ".join(self.command[-6:]))
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            by_us = True
        return self.lab.judge(Result(self.command, self.process.returncode, self.text(self.out), self.text(self.err)), by_us)


def alive(pid):
    """Not while it is dying either: its files, and with them its locks, go with its last thread, its command line long
    before that."""
    def state(task):
        try:
            return (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return "X"

    try:
        return any(state(task) not in "ZX" for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False


def engines_of(file):
    """Process ids of engines that write a file."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if b"--file" in words and str(file).encode() in words and alive(entry.name):
            found.append(int(entry.name))
    return found


def await_engines(lab, file, known=()):
    """Waits until the engines without a supervisor end. `known`: those that ran before."""
    deadline = time.monotonic() + lab.patience
    while engines := {*filter(alive, known), *engines_of(file)}:
        if time.monotonic() > deadline:
            lab.account.blame("hangs", f"an engine outlived its supervisor and {lab.patience} s")
            for engine in engines:
                os.kill(engine, signal.SIGKILL)
            return
        time.sleep(0.005)


def reported_results(events):
    """Status by run number, of the points whose end was reported."""
    return {event["run"]: event["status"] for event in events if event["event"] == "result"}
