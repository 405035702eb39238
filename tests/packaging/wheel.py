#!/usr/bin/env python3
"""Makes the wheel from a build, installs it into a virtual environment and uses what is in it.

usage: wheel.py ROOT PRESET TORCH     TORCH: a torch 2.11 package folder
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT, PRESET, TORCH = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
SKIPPED = 77

failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)


def look_inside(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name.split("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(f"{info}/METADATA").decode()
        record = archive.read(f"{info}/RECORD").decode()
        tag = archive.read(f"{info}/WHEEL").decode()
    check("Requires-Dist: torch==2.11.*\n" in metadata, "the wheel depends on torch", metadata)
    check("Tag: py3-none-manylinux_2_34_x86_64\n" in tag and wheel.name.endswith("-py3-none-manylinux_2_34_x86_64.whl"),
          "it is for x86-64 with glibc 2.34", tag)
    check(sorted(line.rsplit(",", 2)[0] for line in record.splitlines()) == sorted(names), "its list of files is complete")
    check({f"tilescope/programs/{name}" for name in ("bin/tilescope", "bin/tilescope-engine", "lib/libtilescope_ops.so",
                                                     "lib/libtilescope_record.so", "share/tilescope/record/sitecustomize.py",
                                                     "share/tilescope/presets/tiny.yaml")} <= set(names),
          "it holds programs, operator library, recorder and resources", names)
    foreign = [name for name in names if re.search(r"/lib(torch|c10|cu|nv|nccl|gomp)[^/]*$", name)]
    check(not foreign, "no LibTorch and no CUDA are inside", foreign)


def look_at_symbols(site):
    """What the tag promises: nothing newer than glibc 2.34."""
    elves = [path for path in sorted(site.glob("tilescope/programs/*/*")) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    for elf in elves:
        symbols = run("objdump", "-T", elf).stdout
        newest = max((tuple(map(int, number.split("."))) for number in re.findall(r"GLIBC_([\d.]+)", symbols)), default=(0,))
        check((0,) < newest <= (2, 34), f"{elf.name} needs no glibc newer than 2.34", newest)


def use(environment, folder):
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    program = environment / "bin/tilescope"
    said = run(program, "--version", env=bare)
    check(said.stdout.startswith("Tilescope "), "its command line starts", said.stderr)
    check("2.7B" in run(program, "presets", env=bare).stdout, "and finds its resources")
    ran = run(program, "run", "attention", "--device", "cpu", "--seq-len", 64, "--steps", 2, "-o", folder / "a.tscope", env=bare,
              cwd=folder)
    check(ran.returncode == 0 and "1 ok" in ran.stdout, "the engine runs with the environment's torch", ran.stdout + ran.stderr)
    examined = run(program, "doctor", env=bare)
    check(re.search(r"^ok +LibTorch", examined.stdout, re.M), "doctor finds its torch", examined.stdout + examined.stderr)
    training = """import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    recorded = run(program, "record", "-o", folder / "r.tscope", "--", environment / "bin/python", "-c", training, env=bare, cwd=folder)
    shown = run(program, "show", folder / "r.tscope", "ranges", "--format", "json", env=bare)
    check(recorded.returncode == 0 and "Linear" in shown.stdout, "the recorder records a program",
          recorded.stdout + recorded.stderr + shown.stderr)
    refused = run(program, "show", folder / "absent.tscope", env=bare)
    check(refused.returncode == 2 and "no such file" in refused.stderr, "errors and exit status pass through", refused)
    read = run(environment / "bin/python", "-c", "import os, tilescope; print(*tilescope.open('a.tscope', pandas=False).runs()"
               "['status'], os.path.isfile(tilescope.operator_library()))", env=bare, cwd=folder)
    check(read.stdout == "ok True\n", "the package reads the recording and finds the operator library", read.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="tilescope-wheel-") as name:
        folder = pathlib.Path(name) / "with space"
        folder.mkdir()
        environment = folder / "environment"
        made = run(sys.executable, "-m", "venv", environment)
        if made.returncode != 0:
            print("skipped: this Python makes no virtual environment with pip: " + made.stdout + made.stderr)
            return SKIPPED
        said = run(ROOT / "packaging/wheel", PRESET, folder / "out", env={**os.environ, "LC_ALL": "C.UTF-8"})
        wheel = next((folder / "out").glob("tilescope-*.whl"))
        check(str(wheel) in said.stdout, "the script names the wheel", said.stdout + said.stderr)
        look_inside(wheel)
        pip = run(environment / "bin/pip", "install", "--no-index", "--no-deps", wheel, env={**os.environ, "PIP_CONFIG_FILE": os.devnull})
        check(pip.returncode == 0, "pip installs it", pip.stdout + pip.stderr)
        # The torch of the build, 3 GB, is not installed again.
        site = next(environment.glob("lib/python3*/site-packages"))
        (site / "torch.pth").write_text(str(TORCH.parent) + "\n")
        look_at_symbols(site)
        use(environment, folder)
        run(environment / "bin/pip", "uninstall", "-y", "tilescope")
        left = [path.name for path in [*site.glob("tilescope*"), *(environment / "bin").glob("tilescope*")]]
        check(not left, "pip removes all of it", left)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
