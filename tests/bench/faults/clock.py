"""Sets the clock back and forth while a sweep runs. A library loaded before libc simulates the clock: setting the real one
needs root and disturbs every other program."""
import itertools
import json
import time

from kills import compare
from lab import await_engines, engines_of, reported_results

DAY = 86_400


class WallClock:
    """Eight bytes that the library reads at each call of a clock function."""

    def __init__(self, file):
        self.file = file
        self.set(0)

    def set(self, seconds):
        with open(self.file, "r+b" if self.file.exists() else "wb") as stream:
            stream.write(int(seconds).to_bytes(8, "little", signed=True))


def require_sane(lab, file, what, tolerance):
    """Durations come from the monotonic clock, which cannot be set."""
    for run in lab.runs(file) or []:
        if not 0 <= run["seconds"] < tolerance:
            lab.account.blame("lost", f"{what}: run {run['run']} took {run['seconds']} s")
        step = run["step_ms"]
        if run["status"] == "ok" and not 0 < step["mean"] < 1000 * tolerance:
            lab.account.blame("lost", f"{what}: run {run['run']} has steps of {step['mean']} ms")


def shifted(lab, wall, shift, engine, everybody):
    """A sweep whose clock jumps while it runs. The clock of readers and other writers jumps too, as on the same machine, or
    does not, as on another node."""
    what = f"clock set by {shift / DAY:+g} days for {'all' if everybody else 'the engine alone'}, {engine} engine"
    file = lab.folder / f"clock-{shift}-{engine}-{everybody}.tscope"
    shim = lab.shim(program="" if everybody else "engine", FAULT_CLOCK=wall.file)
    wall.set(0)
    running = lab.start(lab.batch(file, "--set", "steps=40"), engine, shim | {"FAKE_SCRIPT": "ok,slow"})
    running.until(lambda events: any(event["event"] == "result" for event in events))
    wall.set(shift)
    # The writer updates its heartbeat every two seconds, or later on a busy machine. Then all its times are new ones.
    time.sleep(2.5)
    if everybody and engine == "fake":
        # Between two points the last run of the file has ended.
        status, deadline = "", time.monotonic() + lab.patience
        while status != "running" and time.monotonic() < deadline:
            shown = lab.call([lab.tilescope, "show", file, "runs", "--format", "json"], extra=shim)
            status = json.loads(shown.out)[-1]["status"] if shown.code == 0 else shown.err
        if status != "running":
            lab.account.blame("lost", f"{what}: while it runs, a reader says {status}")
        rival = lab.call(lab.batch(file, "--set", "seed=9"), extra=shim)
        if rival.code == 0 or "is being written by" not in rival.err:
            lab.account.blame("lost", f"{what}: a second writer was not refused: {rival}")
        lab.require_sentence(rival)
    engines = engines_of(file)
    running.process.kill()
    running.wait(by_us=True)
    await_engines(lab, file, engines)
    compare(lab, file, reported_results(running.events()), what)
    # The last heartbeat of the dead writer may be a day early or late; it must not lock others out.
    wall.set(0)
    lab.call(lab.batch(file, "--resume", "--set", "steps=40"), engine, shim)
    require_sane(lab, file, what, 600)
    lab.require_whole(file, what)
    lab.account.count("clock_changes")


def clock(lab, few):
    if not lab.fault_shim.exists():
        return lab.account.note("clock", "the shim is not built")
    wall = WallClock(lab.folder / "wall-clock")
    for shift, everybody in ((-DAY, True), (DAY, False)) if few else itertools.product((-DAY, DAY), (True, False)):
        shifted(lab, wall, shift, "fake", everybody)
    if lab.use_real:
        shifted(lab, wall, -DAY, "real", True)
