#!/usr/bin/env python3
"""Reads the container recipes and, where a Debian root folder is named, runs their steps in it.

usage: containers.py ROOT PRESET
TILESCOPE_TEST_ROOTFS names a fresh folder of `debootstrap --variant=minbase bookworm DIR`; it is left as it is, a copy of it
grows by 5 GB for a while. Without it, or not as root, only the recipes' text is checked.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

from rootfs import Rootfs, why_not

ROOT, PRESET = pathlib.Path(sys.argv[1]), sys.argv[2]
CONTAINERS = ROOT / "packaging" / "containers"
INSTRUCTIONS = {"ARG", "FROM", "COPY", "RUN", "ENV", "WORKDIR", "ENTRYPOINT", "CMD"}
SECTIONS = {"arguments", "files", "post", "environment", "runscript", "test", "labels", "help"}

failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def docker_steps():
    text = re.sub(r"\\\n", " ", (CONTAINERS / "Dockerfile").read_text())
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def apptainer_recipe():
    """(header, sections) of the definition file."""
    header, sections, current = {}, {}, None
    for line in (CONTAINERS / "tilescope.def").read_text().splitlines():
        if line.startswith("%"):
            current = sections.setdefault(line[1:].strip(), [])
        elif current is not None:
            if line.strip():
                current.append(line.strip())
        elif line.strip() and not line.startswith("#"):
            key, value = line.split(":", 1)
            header[key.strip()] = value.strip()
    return header, sections


def read_recipes():
    steps = docker_steps()
    names = [name for name, _ in steps]
    check(set(names) <= INSTRUCTIONS, "the Dockerfile has only known instructions", set(names) - INSTRUCTIONS)
    check(names[:2] == ["ARG", "FROM"] and names.count("FROM") == 1, "it builds one stage from a base that may be named", names)
    header, sections = apptainer_recipe()
    check(set(sections) <= SECTIONS, "the definition has only known sections", set(sections) - SECTIONS)
    check(header == {"Bootstrap": "docker", "From": "{{ BASE }}"}, "its base may be named too", header)
    of = dict(steps)
    check(sections["arguments"] == [of["ARG"]], "both start from the same base", (sections["arguments"], of["ARG"]))
    check(sections["files"] == [of["COPY"]], "both copy the same", (sections["files"], of["COPY"]))
    check(sections["post"] == [of["RUN"]], "both run the same", (sections["post"], of["RUN"]))
    check(sections["environment"] == ["export " + of["ENV"]], "both set the same", (sections["environment"], of["ENV"]))
    check(json.loads(of["ENTRYPOINT"]) == ["tilescope"] and sections["runscript"] == ['exec tilescope "$@"'],
          "both start the program")
    for title, script in (("install", (CONTAINERS / "install").read_text()),
                          *((f"%{name}", "\n".join(sections[name])) for name in ("post", "environment", "runscript", "test"))):
        parsed = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True)
        check(parsed.returncode == 0, f"sh can read {title}", parsed.stderr)
    return of, sections


def run_recipes(of, sections):
    with Rootfs() as container:
        root = container.folder
        bundle = root.parent / "bundle"
        subprocess.run([ROOT / "packaging" / "bundle", PRESET, bundle], check=True, stdout=subprocess.DEVNULL)
        source, target = of["COPY"].split()
        shutil.copytree(bundle / source, root / target[1:], symlinks=True)
        installed = container("sh", "-c", of["RUN"])
        check(installed.returncode == 0, "the steps run in an empty Debian 12", installed.stdout + installed.stderr)
        container.environment.update([of["ENV"].split("=", 1)])
        (root / of["WORKDIR"][1:]).mkdir(exist_ok=True)
        entry = json.loads(of["ENTRYPOINT"])
        helped = container(*entry, *json.loads(of["CMD"]))
        check("usage: tilescope" in helped.stdout, "the container starts with the help", helped.stderr)
        found = container(*entry, "doctor", "--format", "json")
        torch = [f for f in json.loads(found.stdout or "[]") if f["topic"] == "LibTorch"]
        check([f["verdict"] for f in torch] == ["ok"], "doctor finds its LibTorch", found.stdout + found.stderr)
        tested = container("sh", "-ec", "\n".join([*sections["environment"], *sections["test"]]))
        check(tested.returncode == 0 and "1 ok" in tested.stdout, "%test passes", tested.stdout + tested.stderr)
        tools = [str(p) for place in ("opt", "usr") for p in (root / place).rglob("nvcc")]
        check(not tools, "no compiler was installed", tools)

        # An image that brings torch: the wheels of the first run stand for it.
        site = next((root / "opt/torch/lib").glob("python3*/site-packages"))
        place = "/" + str(site.relative_to(root))
        again = container("sh", "-c", of["RUN"], PYTHONPATH=place)
        check(again.returncode == 0 and f"using the torch of this image: {place}/torch" in again.stdout,
              "an image's own torch is used", again.stdout + again.stderr)


def main():
    of, sections = read_recipes()
    if reason := why_not():
        print("the steps were not run: " + reason)
    else:
        run_recipes(of, sections)
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)


main()
