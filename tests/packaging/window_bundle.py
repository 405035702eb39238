#!/usr/bin/env python3
"""Makes the bundle with the window and opens a trace with it from another folder; where a Debian root folder is named, also in
that one, which has no Qt.

usage: window_bundle.py ROOT PRESET      TILESCOPE_TEST_ROOTFS: see rootfs.py
TILESCOPE_TEST_PICTURES names a folder that keeps the pictures of the window.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rootfs import Rootfs, why_not

ROOT, PRESET = pathlib.Path(sys.argv[1]), sys.argv[2]
TRACE = ROOT / "tests/data/kineto/compiled_graphs.json.gz"
# What a system at least as new as Debian 12 has.
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libutil|libresolv|libstdc\+\+|libgcc_s)\.so\.\d+")
WHEEL = re.compile(r"(libtorch(_cpu|_cuda)?|libc10(_cuda)?)\.so|lib(cupti|cudart|gomp)\.so\.\d+")
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30)}

failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def text_of(*command):
    return subprocess.run(list(map(str, command)), check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def look_inside(bundle):
    elves = [path for path in bundle.rglob("*") if path.is_file() and is_elf(path)]
    names = {path.name for path in elves}
    check({"tilescope", "tilescope-gui", "libQt6Widgets.so.6", "libqxcb.so", "libtilescope_record.so"} <= names
          and any(name.startswith("libQCustomPlot") for name in names),
          "it holds the window, Qt, QCustomPlot and the recorder", names)
    foreign = [name for name in names if re.match(r"lib(torch|c10|cu|nv|nccl)", name)]
    check(not foreign, "no LibTorch and no CUDA are inside", foreign)
    window, programs = names, {path.name for path in elves if path.parent == bundle / "lib"}
    for elf in elves:
        # The plug-in of the recorder is loaded where PyTorch is.
        is_program = elf.name in ("tilescope", "tilescope-engine", "libtilescope_ops.so", "libtilescope_record.so") \
            or elf.name.startswith("tilescope_torch-")
        has = programs if is_program else window
        absent = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text_of("readelf", "-dW", elf))
                  if name not in has and not SYSTEM.fullmatch(name) and not (has is programs and WHEEL.fullmatch(name))]
        check(not absent, f"{elf.name} finds what it needs in the bundle or the system", absent)
        for name, number in re.findall(r"Name: (GLIBC|GLIBCXX)_([\d.]+)", text_of("readelf", "-VW", elf)):
            needed = tuple(map(int, number.split(".")))
            if needed > NEWEST[name]:
                check(False, f"{elf.name} runs on Debian 12", f"{name}_{number}")
    paths = re.findall(r"\(RPATH\).*\[(.*)\]", text_of("readelf", "-dW", bundle / "bin/tilescope-gui"))
    check(paths == ["$ORIGIN/../lib:$ORIGIN/../lib/qt6"], "the window's libraries move with it", paths)
    check((bundle / "notices/libqt6core6.txt").exists() or any((bundle / "notices").glob("libqt6core6*")),
          "it holds the licences of its libraries")


def keep(pictures, name):
    if os.environ.get("TILESCOPE_TEST_PICTURES"):
        shutil.copytree(pictures, pathlib.Path(os.environ["TILESCOPE_TEST_PICTURES"]) / name, dirs_exist_ok=True)


def open_here(bundle, folder):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(folder)}
    loaded = subprocess.run([bundle / "bin/tilescope-gui", "--version"], text=True, capture_output=True,
                            env={**environment, "LD_DEBUG": "files"})
    outside = sorted(set(re.findall(r"calling init: (/\S+/libQ\S+)", loaded.stderr.replace(str(bundle), "BUNDLE"))))
    check(loaded.returncode == 0 and "BUNDLE/bin/../lib/qt6/libQt6Core" in loaded.stderr.replace(str(bundle), "BUNDLE") and not outside,
          "the window loads its own Qt", outside or loaded.stderr[-500:])
    opened = subprocess.run([bundle / "bin/tilescope-gui", TRACE, "--screenshots", folder / "pictures"], text=True,
                            capture_output=True, env=environment, timeout=400)
    check(opened.returncode == 0 and any((folder / "pictures").iterdir()), "it opens a trace", opened.stderr)
    keep(folder / "pictures", "here")


def open_without_qt(bundle):
    with Rootfs() as debian:
        check(not [path for path in debian.files() if "/libQt6" in path], "the other system has no Qt")
        shutil.copytree(bundle, debian.folder / "opt/tilescope moved")
        shutil.copy(TRACE, debian.folder / "tmp")
        fonts = pathlib.Path("/usr/share/fonts/truetype") # what a desktop has; a minimal system has no fonts
        shutil.copytree(fonts, debian.folder / "usr/share/fonts/truetype", dirs_exist_ok=True)
        opened = debian("/opt/tilescope moved/bin/tilescope-gui", f"/tmp/{TRACE.name}", "--screenshots", "/tmp/pictures",
                        QT_QPA_PLATFORM="offscreen", XDG_RUNTIME_DIR="/tmp")
        pictures = debian.folder / "tmp/pictures"
        check(opened.returncode == 0 and pictures.is_dir() and any(pictures.iterdir()), "it opens a trace in a system without Qt",
              opened.stderr)
        xcb = debian("/opt/tilescope moved/bin/tilescope-gui", "--version", QT_QPA_PLATFORM="xcb", LD_BIND_NOW="1")
        check(xcb.returncode == 0, "and starts there", xcb.stderr)
        plugin = debian("ldd", "/opt/tilescope moved/lib/qt6/plugins/platforms/libqxcb.so",
                        LD_LIBRARY_PATH="/opt/tilescope moved/lib/qt6:/opt/tilescope moved/lib")
        check("not found" not in plugin.stdout, "the plugin for X finds all of its libraries", plugin.stdout)
        keep(pictures, "without-qt")


def main():
    with tempfile.TemporaryDirectory(prefix="tilescope-window-") as name:
        folder = pathlib.Path(name)
        made = folder / "made here" / "tilescope"
        said = text_of(ROOT / "packaging/bundle", "--window", PRESET, made).splitlines()
        check(said[0] == str(made), "the script names the folder", said)
        moved = folder / "another place"
        moved.mkdir()
        subprocess.run(["tar", "-C", moved, "-xf", made.with_name("tilescope.tar.gz")], check=True)
        shutil.rmtree(folder / "made here")
        look_inside(moved / "tilescope")
        open_here(moved / "tilescope", folder)
        if reason := why_not():
            print("not opened without Qt: " + reason)
        else:
            open_without_qt(moved / "tilescope")
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
