#!/usr/bin/env python3
"""Without a usable display the window's program, and whoever starts it, answers in one sentence with exit 4.

usage: tests/ui/no_display.py TILESCOPE TILESCOPE_GUI UI_FIXTURE
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

PROGRAM, WINDOW, FIXTURE = sys.argv[1:4]
# What the environment says of a display, and a word of the sentence that is due.
SITUATIONS = {
    "no display": ({}, "no display"),
    "a display that does not answer": ({"DISPLAY": ":4711"}, ":4711"),
    "no X server, by a platform that needs one": ({"QT_QPA_PLATFORM": "xcb"}, "QT_QPA_PLATFORM=xcb"),
    "no Wayland server": ({"QT_QPA_PLATFORM": "wayland", "WAYLAND_DISPLAY": "gone"}, "QT_QPA_PLATFORM=wayland"),
    "a Wayland session whose server is gone": ({"XDG_SESSION_TYPE": "wayland", "WAYLAND_DISPLAY": "gone"}, "gone"),
    "a platform that does not exist": ({"QT_QPA_PLATFORM": "nonsense"}, "QT_QPA_PLATFORM=nonsense"),
}
# An X server by TCP that answers nobody: its queue is full, so that further connections wait.
SILENT = socket.socket()
SILENT.bind(("127.0.0.1", 0))
SILENT.listen(0)
WAITING = [socket.socket() for _ in range(3)]
for client in WAITING:
    client.setblocking(False)
    client.connect_ex(SILENT.getsockname())
NUMBER = SILENT.getsockname()[1] - 6000
TCP_TIMES_OUT = 100  # seconds; Linux gives up after 127
failures = []


def expect(true, what):
    if not true:
        failures.append(what)


def run(command, variables, folder, timeout=300):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE") and not name.startswith("QT_")}
    environment.update({"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "TILESCOPE_GUI": WINDOW, **variables})
    return subprocess.run(command, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=timeout)


def refused(command, variables, folder, code, about, timeout=300):
    ended = run(command, variables, folder, timeout)
    what = f"{about}: {' '.join(map(str, command))}"
    expect(ended.returncode == code, f"{what}: exit {ended.returncode}, expected {code}")
    expect(len(ended.stderr.splitlines()) == 1 and not ended.stdout, f"{what}: printed {ended.stdout + ended.stderr!r}")
    expect("; " in ended.stderr, f"{what}: no remedy in {ended.stderr!r}")
    return ended.stderr


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    folder.chmod(0o700)
    (folder / "spec.yaml").write_text("workload: attention\n")
    subprocess.run([FIXTURE, "lm", folder / "a.tscope"], check=True, stdout=subprocess.DEVNULL)
    for about, (variables, word) in SITUATIONS.items():
        for command in ([WINDOW], [PROGRAM], [PROGRAM, "a.tscope"], [PROGRAM, "spec.yaml"],
                        [WINDOW, "a.tscope", "--page", "memory"]):
            said = refused(command, variables, folder, 4, about)
            expect(word in said, f"{about}: {said!r} does not say {word!r}")
    said = refused([WINDOW], {"DISPLAY": f"127.0.0.1:{NUMBER}"}, folder, 4, "a silent X server", TCP_TIMES_OUT)
    expect(f"DISPLAY=127.0.0.1:{NUMBER}" in said, f"a silent X server: {said!r}")
    # What needs no display works in every situation.
    for about, (variables, _) in SITUATIONS.items():
        expect(run([WINDOW, "--version"], variables, folder).returncode == 0, f"{about}: --version")
    shown = run([WINDOW, "a.tscope", "--screenshots", "pictures"], {"QT_QPA_PLATFORM": "nonsense"}, folder)
    expect(shown.returncode == 0 and any((folder / "pictures").iterdir()), f"--screenshots: {shown.stderr}")
    refused([PROGRAM, "missing.tscope"], {}, folder, 2, "a missing file")
    refused([PROGRAM, "a.tscope", "missing.tscope"], {}, folder, 2, "a missing file")
    refused([WINDOW, "missing.tscope"], {"QT_QPA_PLATFORM": "offscreen"}, folder, 2, "a missing file")
    (folder / "growing.tscope.recording-Ab12Cd").mkdir()
    shown = run([WINDOW, "growing.tscope", "--print-painted"], {"QT_QPA_PLATFORM": "offscreen"}, folder)
    expect(shown.returncode == 0, f"a recording that is being made: {shown.stderr}")
    refused([PROGRAM, "a.tscope"], {"TILESCOPE_GUI": str(folder / "tilescope-gui")}, folder, 4, "no window installed")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
