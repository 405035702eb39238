#!/usr/bin/env python3
"""What packaging/dev builds for each verb: the preset, the CUDA kernels and the targets; and where build/bin points.

A copy of the script runs in an empty tree. A stand-in for CMake notes how it is called and makes what a build would make.
usage: dev_builds.py ROOT
"""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
CMAKE = r"""#!/bin/bash
echo "cmake $*" >>"$CALLS"
if [[ $1 == --preset ]]; then
    mkdir -p "build/$2"
    touch "build/$2/build.ninja"
    [[ ${3:-} != -D* ]] || echo "${3:2}" | sed 's/=/:STRING=/' >"build/$2/CMakeCache.txt"
elif [[ $1 == --build ]]; then
    mkdir -p "build/$3/bin" "build/$3/lib"
    for program in tilescope tilescope-gui; do
        printf '#!/bin/sh\necho "%s of %s" >>"$CALLS"\n' "$program" "$3" >"build/$3/bin/$program"
        chmod +x "build/$3/bin/$program"
    done
fi
"""
DEMO = "--target tilescope tilescope-engine"
HEADLESS = DEMO + " tilescope_recorder tilescope_record_torch"
GUI = HEADLESS + " tilescope-gui"

failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Tree:
    """An empty tree with the script in it, on a machine where everything is installed."""

    def __init__(self, folder):
        self.folder, self.calls = folder, folder / "calls"
        self.root = folder / "tree"
        (self.root / "packaging").mkdir(parents=True)
        for name in ("packaging/dev", "packaging/packages.list", "packaging/packages-test.list", "packaging/wheels.lock",
                     "CMakePresets.json"):
            shutil.copy(ROOT / name, self.root / name)
        for name in ("demo", "bundle", "deb", "wheel"):
            program(self.root / "packaging" / name, f'#!/bin/sh\necho "{name} $*" >>"$CALLS"\n')
        cache = folder / "cache" / "tilescope"
        home = cache / hashlib.sha256((ROOT / "packaging/wheels.lock").read_bytes()).hexdigest()[:16]
        torch = home / "venv/lib/python3.11/site-packages/torch/share/cmake/Torch"
        torch.mkdir(parents=True)
        for made in (home / "complete", torch / "TorchConfig.cmake"):
            made.touch()
        program(home / "venv/bin/cmake", CMAKE)
        program(home / "venv/bin/python", '#!/bin/sh\nfor last; do :; done\necho "python ${last%%,*}" >>"$CALLS"\n')
        for name, text in (("dpkg-query", "echo 'install ok installed'"), ("apt-get", "exit 1"), ("ctest", ""),
                           ("locale", "echo ,")):
            program(folder / "bin" / name, f"#!/bin/sh\n{text}\n")
        self.gpus("")

    def gpus(self, *capabilities):
        lines = "".join(f"echo {one}\n" for one in capabilities if one)
        program(self.folder / "bin/nvidia-smi", f"#!/bin/sh\n{lines}" + ("" if lines else "echo 'NVIDIA-SMI has failed'\nexit 9\n"))

    def __call__(self, *verb, **variables):
        """What was called, and what was said."""
        self.calls.write_text("")
        environment = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), "CALLS": str(self.calls),
                       "XDG_CACHE_HOME": str(self.folder / "cache"), **variables}
        done = subprocess.run(["/bin/bash", self.root / "packaging/dev", *verb], env=environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
        check(done.returncode == 0, f"packaging/dev {' '.join(verb)} succeeds", done.stderr)
        return self.calls.read_text().splitlines(), done.stderr

    def points_at(self):
        link = self.root / "build/bin"
        return str(link.readlink()) if link.is_symlink() else None


def calls(kernels, targets, *then):
    configured = [f"cmake --preset release -DTILESCOPE_KERNEL_SET={kernels}"] if kernels else []
    return [*configured, f"cmake --build --preset release {targets}", *then]


def same(title, found, expected):
    check(found == expected, title, f"{found} instead of {expected}")


def main():
    with tempfile.TemporaryDirectory() as name:
        for index, (verb, gpus, kernels, targets, then, said) in enumerate([
            ("gui", ["9.0"], "9.0", GUI, "tilescope-gui of release", "compute capability 9.0"),
            ("gui", ["9.0", "8.9", "9.0"], "8.9;9.0", GUI, "tilescope-gui of release", "compute capability 8.9, 9.0"),
            ("gui", ["12.0"], "12.0", GUI, "tilescope-gui of release", "compute capability 12.0"),
            ("demo", [], "small", DEMO, "demo ", "no NVIDIA GPU"),
            ("demo", ["7.5"], "small", DEMO, "demo ", "no NVIDIA GPU"),
            ("doctor", [], "small", HEADLESS, "tilescope of release", "small set"),
            ("bundle", ["9.0"], "all", HEADLESS, "bundle release", "for every GPU"),
            ("deb", [], "all", GUI, "deb release", "for every GPU"),
            ("wheel", ["8.0"], "all", HEADLESS, "wheel release", "for every GPU"),
        ]):
            tree = Tree(pathlib.Path(name) / str(index))
            tree.gpus(*gpus)
            found, words = tree(verb)
            same(f"{verb} with {gpus or 'no GPU'} builds the release and starts", found, calls(kernels, targets, then))
            check(said in words, f"and says which kernels: {said}", words)
            same("build/bin is the release build", tree.points_at(), "release/bin")

        tree = Tree(pathlib.Path(name) / "one after another")
        found, _ = tree("test")
        same("test builds the preset dev in batches", found,
             ["cmake --preset dev -DTILESCOPE_BATCH=6 -DTILESCOPE_TEST_BATCH=4", "cmake --build --preset dev", "python import torch"])
        same("and does not offer it to people", tree.points_at(), None)
        tree.gpus("8.6")
        tree("gui")
        found, _ = tree("gui")
        same("what is configured already is only built", found, calls("", GUI, "tilescope-gui of release"))
        tree.gpus("9.0")
        found, _ = tree("demo")
        same("another GPU's kernels are added", found, calls("8.6;9.0", DEMO, "demo "))
        tree.gpus()
        found, _ = tree("demo")
        same("without a GPU nothing is taken away", found, calls("", DEMO, "demo "))
        tree("bundle")
        tree.gpus("9.0")
        found, _ = tree("gui")
        same("a build with all kernels keeps them", found, calls("", GUI, "tilescope-gui of release"))
        found, _ = tree("test")
        same("a second test does not compile PyTorch again", found, ["cmake --build --preset dev"])
        same("test leaves build/bin at the release build", tree.points_at(), "release/bin")

        tree = Tree(pathlib.Path(name) / "named")
        found, _ = tree("gui", TILESCOPE_KERNEL_SET="8.0;9.0")
        same("TILESCOPE_KERNEL_SET names other GPUs", found, calls("8.0;9.0", GUI, "tilescope-gui of release"))
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)


main()
