#!/usr/bin/env python3
"""Makes the bundle from a build and runs it from another folder, as a bare node would.

usage: bundle.py ROOT PRESET TORCH     TORCH: a torch 2.11 package folder
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, PRESET, TORCH = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
# What a node has: the C and C++ libraries, and what a torch wheel brings.
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libutil|libstdc\+\+|libgcc_s)\.so\.\d+")
WHEEL = re.compile(r"(libtorch(_cpu|_cuda)?|libc10(_cuda)?)\.so|lib(cupti|cudart|gomp)\.so\.\d+")
# RHEL 9 and its like, the oldest systems that the programs are kept runnable on.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29)}
LARGEST = 64 * 2**20  # every attention kernel for every architecture takes 34 MiB of it

failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def text_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def version(text):
    return tuple(int(part) for part in text.split("."))


def look_inside(bundle, said):
    files = [p for p in bundle.rglob("*") if p.is_file()]
    elves = [p for p in files if is_elf(p)]
    check({"tilescope", "tilescope-engine", "libtilescope_record.so"} <= {p.name for p in elves}, "it holds both programs and the recorder")
    check((bundle / "share/tilescope/record/sitecustomize.py").exists(), "and what the recorder loads into Python")
    foreign = [p.name for p in files if re.match(r"lib(torch|c10|cu|nv|nccl|gomp)|(torch|nvidia)$", p.name)]
    check(not foreign, "no LibTorch and no CUDA are inside", foreign)
    check(any((bundle / "notices").glob("libsimdjson*.txt")), "it holds the licences of its libraries")
    size = sum(p.stat().st_size for p in files)
    check(size < LARGEST, f"it takes {size / 2**20:.1f} MiB")
    newest = dict.fromkeys(NEWEST, (0,))
    for elf in elves:
        dynamic = text_of("readelf", "-dW", elf)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        absent = [n for n in needed if not (SYSTEM.fullmatch(n) or WHEEL.fullmatch(n) or (bundle / "lib" / n).exists())]
        check(not absent, f"{elf.name} finds what it needs in the bundle, the system or the wheel", absent)
        paths = [path for found in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic) for path in found.split(":")]
        check(all(path.startswith("$ORIGIN") for path in paths), f"the run path of {elf.name} moves with it", paths)
        if elf.parent.name == "bin":
            check("$ORIGIN/../lib" in paths, f"{elf.name} looks in lib first", paths)
        for name, number in re.findall(r"Name: (GLIBC|GLIBCXX)_([\d.]+)", text_of("readelf", "-VW", elf)):
            newest[name] = max(newest[name], version(number))
    check(all(newest[name] <= NEWEST[name] for name in NEWEST), "it runs on RHEL 9 (see core/base/older_libraries.cpp)", newest)
    for name, number in newest.items():
        spelled = {"GLIBC": "glibc ", "GLIBCXX": "GLIBCXX_"}[name] + ".".join(map(str, number))
        check(spelled in said, f"the script says that it needs {spelled}", said)


class Node:
    """A bare environment: nothing of the caller's but a PATH, an empty home and perhaps a python3 of its own."""

    def __init__(self, folder, bundle):
        self.folder, self.program = folder, bundle / "bin" / "tilescope"
        (folder / "home").mkdir()

    def python(self, torch):
        """A python3 that would import torch from there."""
        bin_ = self.folder / "python"
        bin_.mkdir(exist_ok=True)
        (bin_ / "python3").write_text(f"#!/bin/sh\necho '{torch}'\n")
        (bin_ / "python3").chmod(0o755)

    def __call__(self, *arguments, **variables):
        environment = {"PATH": f"{self.folder}/python:/usr/bin:/bin", "HOME": str(self.folder / "home"), **variables}
        return subprocess.run([self.program, *map(str, arguments)], env=environment, cwd=self.folder, text=True,
                              capture_output=True)

    def attention(self, file, **variables):
        return self("run", "attention", "--device", "cpu", "--seq-len", 64, "--steps", 2, "--backend", "flash", "-o", file,
                    **variables)


def fake_torch(folder, number):
    (folder / "lib").mkdir(parents=True)
    for name in ("libtorch_cpu.so", "libtorch_cuda.so"):
        (folder / "lib" / name).touch()
    (folder / "version.py").write_text(f"__all__ = ['__version__']\n__version__ = '{number}'\n")
    return folder


def run_it(node, folder):
    check(node("--version").stdout.startswith("Tilescope "), "it says its version from its new place")
    check("2.7B" in node("presets").stdout, "it finds its resources there")

    # A folder with spaces for the wheels, too.
    wheels = folder / "site packages"
    wheels.mkdir()
    for name in ("torch", "nvidia"):
        (wheels / name).symlink_to(TORCH.parent / name)
    node.python("")
    ran = node.attention("by variable.tscope", TILESCOPE_TORCH=str(wheels / "torch"))
    check(ran.returncode == 0 and "1 ok" in ran.stdout, "it runs with TILESCOPE_TORCH", ran.stdout + ran.stderr)
    findings = json.loads(node("doctor", "--format", "json", TILESCOPE_TORCH=str(wheels / "torch")).stdout)
    torch = [f for f in findings if f["topic"] == "LibTorch"]
    check([f["verdict"] for f in torch] == ["ok"] and "TILESCOPE_TORCH" in torch[0]["finding"], "doctor says so", torch)
    node.python(wheels / "torch")
    ran = node.attention("by python.tscope")
    check(ran.returncode == 0 and "1 ok" in ran.stdout, "it runs with python3's torch", ran.stdout + ran.stderr)

    old = fake_torch(folder / "old" / "torch", "2.10.0+cu128")

    def refused(title, result, *words):
        check(result.returncode == 4 and len(result.stderr.splitlines()) == 1 and all(w in result.stderr for w in words),
              title, f"exit {result.returncode}: {result.stderr}")

    refused("another version in TILESCOPE_TORCH is refused in one sentence",
            node.attention("x.tscope", TILESCOPE_TORCH=str(old)), "has torch 2.10.0+cu128; Tilescope needs 2.11", str(old))
    node.python(old)
    refused("another version of python3's is refused in one sentence", node.attention("x.tscope"),
            "found by python3, has torch 2.10.0+cu128; Tilescope needs 2.11", str(old))
    # A module may have put another torch before ours: everything in it is ours here but its version.
    loaded = folder / "module" / "torch"
    (loaded / "lib").mkdir(parents=True)
    for library in [*(TORCH / "lib").glob("*.so*"), *TORCH.parent.glob("nvidia/*/lib/*.so*")]:
        (loaded / "lib" / library.name).symlink_to(library)
    (loaded / "version.py").write_text("x = 1\n__version__ = '2.10.0'\n")
    refused("another version in LD_LIBRARY_PATH is refused in one sentence",
            node.attention("x.tscope", LD_LIBRARY_PATH=str(loaded / "lib")), "loaded LibTorch is 2.10.0; Tilescope needs 2.11")
    node.python("")
    refused("a missing torch is reported in one sentence", node.attention("x.tscope"), "TILESCOPE_TORCH", "2.11")
    check(not (folder / "x.tscope").exists(), "and no file is left by any of them")


def import_it(bundle, folder):
    """The Python package of the bundle, without another tilescope, reads what the bundle's programs recorded."""
    package = bundle / "share/tilescope/python"
    code = "import tilescope; print(tilescope.__file__); print(len(tilescope.open('by python.tscope').samples()))"
    read = subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, text=True, capture_output=True,
                          env={"PYTHONPATH": str(package), "HOME": str(folder)})
    said = read.stdout.splitlines()
    check(len(said) == 2 and said[0].startswith(str(package)) and int(said[1]) > 0, "its Python package reads recordings",
          read.stdout + read.stderr)
    check(not [path for path in package.rglob("*") if path.is_symlink()], "and it holds its schema and licence itself")


def complete_in_it(bundle, folder):
    script = f"""source '{bundle}/share/bash-completion/completions/tilescope'
COMP_WORDS=('{bundle}/bin/tilescope'); COMP_LINE='tilescope run lm --dry'; COMP_POINT=${{#COMP_LINE}}
_tilescope; printf '%s\\n' "${{COMPREPLY[@]}}" """
    found = subprocess.run(["bash", "-c", script], cwd=folder, text=True, stdout=subprocess.PIPE, check=True).stdout
    check(found == "--dry-run\n", "bash completes by the bundle's completions", found)
    check((bundle / "share/man/man1/tilescope-run.1.gz").exists(), "and it has man pages")


def submit_it(bundle, folder):
    """slurm/submit with a stand-in for sbatch that notes what it is given."""
    bin_ = folder / "cluster"
    bin_.mkdir()
    (bin_ / "sbatch").write_text(f"#!/bin/sh\nprintf '%s|%s|%s\\n' \"$TILESCOPE\" \"$SHARDS\" \"$*\" >>'{folder}/calls'\necho 7\n")
    (bin_ / "sbatch").chmod(0o755)
    spec = folder / "two points.yaml"
    spec.write_text("workload: attention\ndevice: cpu\nsweep: {seq_len: [64, 128]}\n")
    out = folder / "swept here"

    def submit(*arguments):
        return subprocess.run([bundle / "slurm" / "submit", *map(str, arguments)], text=True, capture_output=True,
                              env={"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(folder)})

    queued = submit("-n", 2, "-o", out, spec, "--partition=gpu", "--time=5")
    check(queued.returncode == 0 and queued.stdout == f"2 points in 2 shards: array job 7, then merge job 7 -> {out}/all.tscope\n",
          "the bundle's submit queues a sweep", queued.stdout + queued.stderr)
    calls = [line.split("|") for line in (folder / "calls").read_text().splitlines()]
    check([call[:2] for call in calls] == [[str(bundle / "bin" / "tilescope"), "2"]] * 2, "with the program of the bundle", calls)
    check("--array=0-1" in calls[0][2] and "--time=5" in calls[0][2] and "--dependency=afterany:7" in calls[1][2]
          and "--partition=gpu" in calls[1][2] and "--time=5" not in calls[1][2], "and each job gets its options", calls)
    for title, arguments, words in [
        ("more shards than points", ("-n", 3, "-o", folder / "other", spec), "has 2 points only"),
        ("an absent spec", ("-n", 2, "-o", folder / "other", folder / "none.yaml"), "no such file"),
        ("a folder of another sweep", ("-n", 2, "-o", out, folder / "another.yaml"), "contains another sweep"),
        ("options in another form", ("-n", 2, "-o", out, spec, "-p", "gpu"), "--name=value"),
    ]:
        (folder / "another.yaml").write_text("workload: attention\nsweep: {seq_len: [64, 256]}\n")
        refused = submit(*arguments)
        check(refused.returncode == 2 and words in refused.stderr and len(refused.stderr.splitlines()) == 1,
              f"it refuses {title} in one sentence", refused.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="tilescope-bundle-") as name:
        folder = pathlib.Path(name)
        made = folder / "made here" / "tilescope"
        said = text_of(ROOT / "packaging" / "bundle", PRESET, made).splitlines()
        check(said[0] == str(made), "the script names the folder", said)
        archive = made.with_name("tilescope.tar.gz")
        check(str(archive) in said[1] and archive.exists(), "and the archive", said)
        look_inside(made, said[1])

        unpacked = folder / "another place"
        unpacked.mkdir()
        # The least that a node has: tar and gzip.
        tools = folder / "tools"
        tools.mkdir()
        for tool in ("tar", "gzip"):
            (tools / tool).symlink_to(shutil.which(tool))
        subprocess.run([tools / "tar", "-C", unpacked, "-xf", archive], env={"PATH": str(tools)}, check=True)
        shutil.rmtree(folder / "made here")
        node = Node(folder, unpacked / "tilescope")
        run_it(node, folder)
        import_it(unpacked / "tilescope", folder)
        complete_in_it(unpacked / "tilescope", folder)
        submit_it(unpacked / "tilescope", folder)
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)


main()
