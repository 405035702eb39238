"""kill -9 of the engine, of the supervisor, of both, at random moments of a sweep. Every fourth kill comes right before a
random file operation of the engine, which a library loaded before libc counts; the others come at random times."""
import os
import signal
import time

from lab import await_engines, engines_of, reported_results

VICTIMS = ("engine", "supervisor", "both", "engine at a file operation")
KILLS_OF_A_FILE = 3  # a file is resumed and killed again before it may be completed


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def strike(running, engines, victim):
    """False if the processes had already ended."""
    struck = False
    if victim != "engine" and running.process.poll() is None:
        struck |= kill(running.process.pid)
    for engine in engines if victim != "supervisor" else []:
        struck |= kill(engine)
    return struck


def compare(lab, file, reported, what):
    """Every reported result is in the file with the same status."""
    runs = lab.runs(file) if file.exists() else []
    stored = {run["run"]: run["status"] for run in runs or []}
    for run, status in reported.items():
        if stored.get(run) != status:
            lab.account.blame("lost", f"{what}: run {run} was reported as {status} and is {stored.get(run)} in the file")
    if runs is not None and file.exists():
        lab.require_whole(file, what)
    for run in runs or []:
        if run["status"] == "running":
            lab.account.blame("lost", f"{what}: run {run['run']} is called running and nobody writes")


def measure(lab, engine):
    """The duration of an undisturbed sweep, and the number of file operations of its engine."""
    file, count = lab.folder / f"calm-{engine}.tscope", lab.folder / f"operations-{engine}"
    began = time.monotonic()
    lab.call(lab.batch(file), engine, lab.shim(FAULT_OPERATIONS=count))
    span = time.monotonic() - began
    lab.require_complete(file, "undisturbed", engine)
    return span, int(count.read_text().split()[0]) if count.exists() else 0


def kill_once(lab, engine, file, victim, span, operations):
    """A new or resumed sweep that is killed. Returns its events, whether a process was killed, and a description."""
    if victim == VICTIMS[3]:
        at = lab.random.randint(1, operations)
        running = lab.start(lab.batch(file, "--resume"), engine, lab.shim(FAULT_KILL_AT=at))
        running.wait()
        reported = running.events()
        hit = any("SIGKILL" in event.get("reason", event.get("text", "")) for event in reported)
        return reported, hit, f"killed before file operation {at}"
    delay = lab.random.uniform(0, span)
    running = lab.start(lab.batch(file, "--resume"), engine)
    time.sleep(delay)
    engines = engines_of(file)
    hit = strike(running, engines, victim)
    running.wait(by_us=victim != "engine")
    await_engines(lab, file, engines)
    return running.events(), hit, f"killed after {delay * 1000:.0f} ms"


def kills(lab, count, engine):
    if not lab.has(engine):
        return lab.account.note(f"kills_of_{engine}_engine", "not built")
    span, operations = measure(lab, engine)
    # On a busy machine a sweep is slow, which is not a hang.
    lab.patience = max(lab.patience, 10 * span)
    victims = VICTIMS if operations else VICTIMS[:3]
    struck = generation = 0
    file = reported = None
    # Kills that come after the end of the sweep do not count.
    for attempt in range(4 * count):
        if struck == count:
            break
        if generation % KILLS_OF_A_FILE == 0:
            if file:
                lab.require_complete(file, f"{engine} file {file.name}", engine)
            file, reported = lab.folder / f"{engine}-{attempt}.tscope", {}
        generation += 1
        victim = victims[attempt % len(victims)]
        events, hit, how = kill_once(lab, engine, file, victim, span, operations)
        struck += hit
        reported |= reported_results(events)
        compare(lab, file, reported, f"{engine} engine, {victim} {how}, attempt {attempt}")
    if file:
        lab.require_complete(file, f"{engine} file {file.name}", engine)
    lab.account.count("kills", struck)
    lab.account.note(f"kills_of_{engine}_engine", struck)
