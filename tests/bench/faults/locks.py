"""A filesystem without locks, like some network filesystems: the heartbeat beside the file replaces them."""
import json
import signal

from kills import compare
from lab import await_engines, engines_of, reported_results


def locks(lab, _few):
    if not lab.fault_shim.exists():
        return lab.account.note("locks", "the shim is not built")
    lockless = lab.shim(program="", FAULT_LOCKS="none")
    file = lab.folder / "lockless.tscope"
    # An engine that dies leaves a fresh heartbeat: the supervisor must not wait for it, nor be refused.
    died = lab.call(lab.batch(file), extra=lockless | {"FAKE_SCRIPT": "ok,kill,ok"})
    statuses = [run["status"] for run in lab.runs(file) or []]
    if died.code != 3 or sorted(statuses) != ["error"] * 3 + ["ok"] * 9:
        lab.account.blame("lost", f"without locks, an engine that dies: {died}, {statuses}")
    # Two writers, and readers meanwhile.
    running = lab.start(lab.batch(file, "--set", "steps=100"), extra=lockless | {"FAKE_SCRIPT": "slow"})
    running.until(lambda events: any(event["event"] == "sample" for event in events))
    rival = lab.call(lab.batch(file), extra=lockless)
    if rival.code != 2 or "is being written by" not in rival.err:
        lab.account.blame("lost", f"without locks, a second writer was not refused: {rival}")
    lab.require_sentence(rival)
    shown = lab.call([lab.tilescope, "show", file, "runs", "--format", "json"], extra=lockless)
    if shown.code != 0 or json.loads(shown.out)[-1]["status"] != "running":
        lab.account.blame("lost", f"without locks, a reader does not see that a run is running: {shown}")
    engines = engines_of(file)
    running.process.send_signal(signal.SIGKILL)
    running.wait(by_us=True)
    await_engines(lab, file, engines)
    compare(lab, file, reported_results(running.events()), "without locks")
    lab.require_complete(file, "without locks")
    lab.account.count("lockless", 3)
