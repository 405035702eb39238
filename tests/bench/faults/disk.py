"""A small tmpfs that becomes full while a sweep writes to it. The script restarts itself with the right to mount one."""
import json
import os
import subprocess
import sys

MIB = 1 << 20
SIZE = 100 * MIB
NEEDED = 64 * MIB  # minimum for a run to start


def free(folder):
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def ballast(folder, leave):
    """Fills the disk except for so many bytes, while other processes write to it."""
    file = folder / "ballast"
    with open(file, "wb") as stream:
        while (size := free(folder) - leave) > 0:
            try:
                os.posix_fallocate(stream.fileno(), stream.seek(0, os.SEEK_END), size)
            except OSError:  # another process used some of it
                if size < MIB:
                    break
    return file


def full_before(lab, folder):
    """Too little space for a run: the sweep is refused before it starts."""
    file = folder / "before.tscope"
    filled = ballast(folder, NEEDED - 8 * MIB)
    refused = lab.call(lab.batch(file))
    if refused.code == 0:
        lab.account.blame("lost", "a run was begun on a disk with 56 MiB free")
    lab.require_sentence(refused)
    filled.unlink()
    lab.require_complete(file, "disk full before the sweep")
    file.unlink()


def full_meanwhile(lab, folder, leave):
    """Points that trace 200,000 events each, and a disk that fills while the first is written."""
    file = folder / "meanwhile.tscope"
    spec = folder / "big.yaml"
    spec.write_text("workload: attention\ndevice: cpu\nsteps: 2\nsweep: {seed: [0, 1, 2]}\n")
    big = {"FAKE_SCRIPT": "ok,big,big"}
    running = lab.start(lab.batch(file, spec=spec), extra=big)
    running.until(lambda events: any(event["event"] == "result" for event in events))
    filled = ballast(folder, leave)
    result = running.wait()
    reported = {event["run"]: event["status"] for event in running.events() if event["event"] == "result"}
    what = f"disk filled to {leave // 1024} KiB"
    if result.code == 0 and len(reported) < 3:
        lab.account.blame("lost", f"{what}: exit 0 with {len(reported)} of 3 points")
    if result.code != 0:
        lab.require_sentence(result)
    stored = {run["run"]: run["status"] for run in lab.runs(file) or []}
    lost = {run: status for run, status in reported.items() if stored.get(run) != status}
    if lost:
        lab.account.blame("lost", f"{what}: reported as {lost}, in the file {stored}")
    lab.require_whole(file, what)
    filled.unlink(missing_ok=True)
    lab.require_complete(file, what, points=3, spec=spec)
    file.unlink()
    return result.code != 0


def on_small_disk(lab, folder):
    """The part of the script that runs with the mounted tmpfs."""
    full_before(lab, folder)
    noticed = sum(full_meanwhile(lab, folder, leave) for leave in (0, 64 * 1024, 512 * 1024, 2 * MIB, 8 * MIB))
    lab.account.count("full_disks", 6)
    if noticed == 0:
        lab.account.blame("lost", "no sweep noticed that its disk was full: the test tests nothing")


def disk(lab, _few):
    folder = lab.folder / "disk"
    folder.mkdir()
    mount = f'mount -t tmpfs -o size={SIZE} tilescope "{folder}" && exec "$@"'
    become = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if subprocess.run([*become, "sh", "-c", mount, "sh", "true"], capture_output=True).returncode != 0:
        return lab.account.note("full_disk", "no tmpfs can be mounted here")
    again = [sys.executable, sys.argv[0], "--on-disk", str(folder), "--seed", str(lab.random.randrange(1 << 30)),
             "--patience", str(lab.patience)]
    done = subprocess.run([*become, "sh", "-c", mount, "sh", *again], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"TILESCOPE_BUILD": str(lab.build), "TILESCOPE_NO_BUILD": "1"})
    print(done.stdout, end="", flush=True)
    lab.account.take(json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else
                     {"crashes": 1, "sentence": "the part on the small disk did not end"})
