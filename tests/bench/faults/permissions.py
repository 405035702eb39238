"""The file or its folder made read-only, deleted or replaced while a sweep writes it."""
import os
import shutil
import subprocess

NOBODY = 65534


def as_nobody():
    """Skipped for root, whom permissions do not restrict."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []


def slow_sweep(lab, file, prefix=()):
    """A sweep that has reported its first results and continues for a while."""
    running = lab.start([*prefix, *lab.batch(file, "--set", "steps=10")], extra={"FAKE_SCRIPT": "ok,slow"})
    if not running.until(lambda events: sum(event["event"] == "result" for event in events) >= 2):
        raise RuntimeError(f"the sweep did not come to its second result: {running.wait()}")
    return running


def results(running):
    return {event["run"]: event["status"] for event in running.events() if event["event"] == "result"}


def read_only(lab, mode_of_file, mode_of_folder, what):
    folder = lab.folder / what.replace(" ", "-")
    folder.mkdir()
    prefix = as_nobody()
    if prefix:
        os.chown(folder, NOBODY, NOBODY)
    file = folder / "a.tscope"
    running = slow_sweep(lab, file, prefix)
    os.chmod(file, mode_of_file)
    os.chmod(folder, mode_of_folder)
    running.wait()
    reported = results(running)
    stored = {run["run"]: run["status"] for run in lab.runs(file) or []}
    for run, status in reported.items():
        if stored.get(run) != status:
            lab.account.blame("lost", f"{what}: run {run} reported as {status}, in the file {stored.get(run)}")
    # A user without write permission can either read it or gets the reason.
    shown = lab.call([*prefix, lab.tilescope, "show", file, "runs", "--format", "json"])
    if shown.code != 0:
        lab.require_sentence(shown)
    # A new sweep is refused, or completes if the logs beside the file still exist and are writable.
    again = lab.call([*prefix, *lab.batch(file, "--resume", "--set", "seed=77")])
    if again.code != 0:
        lab.require_sentence(again)
    elif sum(run["params"]["seed"] == 77 for run in lab.runs(file)) != 3:
        lab.account.blame("lost", f"{what}: a new sweep ended well and is not in the file")
    os.chmod(folder, 0o755)
    os.chmod(file, 0o644)
    lab.require_whole(file, what)


def taken_away(lab, take, what):
    """Checks a sweep whose file was deleted: if it succeeds, its file must exist."""
    file = lab.folder / (what.replace(" ", "-") + ".tscope")
    running = slow_sweep(lab, file)
    take(file)
    result = running.wait()
    if result.code == 0:
        lab.account.blame("lost", f"{what}: exit 0, and the results are gone")
    lab.require_sentence(result)
    return file


def permissions(lab, few):
    reachable = subprocess.run([*as_nobody(), lab.tilescope, "--version"], capture_output=True).returncode == 0 and \
        subprocess.run([*as_nobody(), "test", "-r", lab.spec], capture_output=True).returncode == 0
    if reachable:
        if not few:
            read_only(lab, 0o444, 0o755, "file made read-only")
            read_only(lab, 0o644, 0o555, "folder made read-only")
        read_only(lab, 0o444, 0o555, "file and folder made read-only")
    else:
        lab.account.note("read_only", "another user cannot run the programs here")
    taken_away(lab, lambda file: file.unlink(), "file deleted")
    taken_away(lab, lambda file: shutil.move(file, file.with_suffix(".moved")), "file moved")
    foreign = lab.folder / "foreign"
    foreign.write_text("somebody else's")
    replaced = taken_away(lab, lambda file: os.replace(foreign, file), "file replaced")
    if replaced.read_text() != "somebody else's":
        lab.account.blame("lost", "file replaced: what took its place was written to")
    # A moved file is put back: it has the reported results, and the sweep continues.
    back = lab.folder / "put-back.tscope"
    running = slow_sweep(lab, back)
    aside = back.with_suffix(".aside")
    os.rename(back, aside)
    running.wait()
    os.rename(aside, back)
    reported = results(running)
    stored = {run["run"]: run["status"] for run in lab.runs(back) or []}
    if any(stored.get(run) != status for run, status in reported.items()):
        lab.account.blame("lost", f"file put back: reported {reported}, in the file {stored}")
    lab.account.count("permissions", 4 + reachable * (1 if few else 3))
