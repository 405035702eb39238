#!/usr/bin/env python3
"""Makes the .deb, unpacks it and uses what is in it; installs, starts and removes it where a Debian root folder is named.

usage: deb.py ROOT PRESET      TILESCOPE_TEST_ROOTFS: see rootfs.py
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from rootfs import Rootfs, why_not

ROOT, PRESET = pathlib.Path(sys.argv[1]), sys.argv[2]
WHEEL = re.compile(r"(libtorch(_cpu|_cuda)?|libc10(_cuda)?)\.so|lib(cupti|cudart|gomp)\.so\.\d+")
LARGEST = 20 << 20
BASE = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so\.\d+")

failed = 0


def check(holds, text, more=""):
    global failed
    print(f"{'passed' if holds else 'FAILED'}: {text}{'' if holds or more == '' else ': ' + str(more)}", flush=True)
    failed += not holds


def text_of(*command, **options):
    options = {"env": {**os.environ, "LC_ALL": "C.UTF-8"}, **options}
    return subprocess.run(list(map(str, command)), check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def verbs_of(program):
    return re.findall(r"^  (\S+) +\S.*\n +tilescope ", text_of(program, "--help"), re.M)


def look_at_package(package):
    control = text_of("dpkg-deb", "-f", package)
    check("Package: tilescope\n" in control and "Architecture: amd64\n" in control, "it is a package of tilescope", control)
    listed = [line.split(None, 5) for line in text_of("dpkg-deb", "-c", package).splitlines()]
    check(all(entry[1] == "root/root" for entry in listed), "everything in it belongs to root")
    names = [entry[5].split(" -> ")[0] for entry in listed]
    strangers = [name for name in names if not name.startswith("./usr/") and name != "./"]
    check(not strangers, "everything lies under /usr", strangers)
    check({"./usr/lib/tilescope/lib/libtilescope_record.so", "./usr/share/tilescope/record/sitecustomize.py"} <= set(names),
          "the recorder is inside")
    foreign = [name for name in names if re.match(r"(lib(torch|c10|cu|nv|nccl|gomp))", name.split("/")[-1])]
    check(not foreign, "no LibTorch and no CUDA are inside", foreign)
    check(package.stat().st_size < LARGEST, f"it takes {package.stat().st_size / 2**20:.1f} MiB")
    with tempfile.TemporaryDirectory() as control_files:
        subprocess.run(["dpkg-deb", "-e", package, control_files], check=True)
        files = {path.name for path in pathlib.Path(control_files).iterdir()}
    check(files == {"control", "md5sums"}, "no script of it runs as root", files)
    return re.findall(r"(?:^Depends: |, )([a-z0-9.+-]+)", re.search(r"^Depends: .*$", control, re.M)[0])


def look_at_dependencies(usr, depends):
    for elf in [*(usr / "lib/tilescope/bin").iterdir(), *(usr / "lib/tilescope/lib").iterdir()]:
        absent = []
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text_of("readelf", "-dW", elf)):
            if WHEEL.fullmatch(name) or BASE.fullmatch(name) or (usr / "lib/tilescope/lib" / name).exists():
                continue
            owner = subprocess.run(["dpkg", "-S", f"*/{name}"], text=True, capture_output=True).stdout.split(":")[0]
            if owner not in depends:
                absent.append(f"{name} of {owner or 'no package'}")
        check(not absent, f"the package depends on all that {elf.name} links", absent)
    # Ubuntu 24.04 calls Qt's package libqt6widgets6t64.
    check({"libc6", "libstdc++6"} <= set(depends) and any(d.startswith("libqt6widgets6") for d in depends),
          "and on the C and C++ libraries and Qt", depends)


def start(usr, folder):
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    (folder / "bin").mkdir()
    (folder / "bin/python3").write_text("#!/bin/sh\n")  # one that has no torch
    (folder / "bin/python3").chmod(0o755)
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "QT_QPA_PLATFORM": "offscreen",
                   "XDG_RUNTIME_DIR": str(runtime)}
    check(text_of(usr / "bin/tilescope", "--version", env=environment).startswith("Tilescope "), "tilescope starts")
    check("2.7B" in text_of(usr / "bin/tilescope", "presets", env=environment), "it finds its resources")
    check("tilescope" in text_of(usr / "bin/tilescope-gui", "--version", env=environment), "tilescope-gui starts")
    ran = subprocess.run([usr / "bin/tilescope", "run", "attention", "--device", "cpu", "-o", folder / "a.tscope"],
                         env=environment, text=True, capture_output=True, cwd=folder)
    check(ran.returncode == 4 and len(ran.stderr.splitlines()) == 1 and "TILESCOPE_TORCH" in ran.stderr,
          "without LibTorch a run is refused in one sentence", ran.stderr)
    pictures = folder / "pictures"
    subprocess.run([usr / "bin/tilescope-gui", "--screenshots", pictures], env=environment, check=True, timeout=250)
    check(any(pictures.iterdir()), "the window paints itself")


def import_package(usr, folder):
    read = "import tilescope; print(len(tilescope.open({!r}).kernels()))".format(str(ROOT / "tests/data/store/version-1.tscope"))
    done = subprocess.run([sys.executable, "-B", "-c", read], text=True, capture_output=True, cwd=folder,
                          env={"PYTHONPATH": str(usr / "lib/python3/dist-packages"), "HOME": str(folder)})
    check(done.stdout == "520\n", "python3 imports its package and reads a recording", done.stdout + done.stderr)


def look_at_man_pages(usr, verbs):
    man = usr / "share/man/man1"
    names = {path.name for path in man.iterdir()}
    wanted = {f"tilescope-{verb.lstrip('-')}.1.gz" for verb in verbs} | {"tilescope.1.gz", "tilescope-gui.1.gz"}
    check(names == wanted, "there is a man page for every verb", names ^ wanted)
    run = gzip.decompress((man / "tilescope-run.1.gz").read_bytes()).decode()
    check(all(key in run for key in ("\\-\\-seq_len", "\\-\\-rope_theta")), "that of run tells the keys of both workloads")
    if shutil.which("man"):
        for name in sorted(names):
            shown = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", man / name], text=True,
                                   capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
            complaints = [line for line in shown.stderr.splitlines() if "can't break line" not in line
                          and "cannot adjust line" not in line and "cannot break line" not in line]
            check(shown.returncode == 0 and not complaints, f"man shows {name}", complaints)


def complete(usr, folder, *words):
    script = f"""source '{usr}/share/bash-completion/completions/tilescope'
COMP_WORDS=('{usr}/bin/tilescope'); COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}
_tilescope; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return text_of("bash", "-c", script, "bash", *words, cwd=folder).splitlines()


def look_at_completions(usr, folder, verbs):
    (folder / "with space.tscope").touch()
    (folder / "sweep.yaml").touch()
    for words, expected in [
        (["tilescope", ""], {*verbs, "with space.tscope"}), (["tilescope", "sho"], {"show"}),
        (["tilescope", "run", ""], {"attention", "lm", "accumulation", "dtypes", "products", "collective"}), (["tilescope", "help", "comp"], {"compare", "compact", "compile", "completion"}),
        (["tilescope", "run", "lm", "--dry"], {"--dry-run"}), (["tilescope", "doctor", "--fo"], {"--format", "--force"}), (["tilescope", "run", "lm", "--rope"], {"--rope_theta"}),
        (["tilescope", "run", "lm", "--precision", ""], {"fp32", "tf32", "bf16", "fp16"}),
        (["tilescope", "--batch", "sw"], {"sweep.yaml"}), (["tilescope", "verify", "with"], {"with space.tscope"}),
        (["tilescope", "show", "a.tscope", "ker"], {"kernels"}), (["tilescope", "--batch", "s.yaml", "--shard", ""], set()),
    ]:
        found = set(complete(usr, folder, *words)) - {"", "pictures"}
        check(expected <= found and (words[-1] == "" or found == expected), f"bash completes '{' '.join(words[1:])}'", found)
    for shell, file in (("zsh", "share/zsh/vendor-completions/_tilescope"),
                        ("fish", "share/fish/vendor_completions.d/tilescope.fish")):
        check("completion --line" in (usr / file).read_text(), f"the completion for {shell} asks the program")
        if shutil.which(shell):
            read = subprocess.run([shell, "-n", usr / file], text=True, capture_output=True)
            check(read.returncode == 0 and not read.stderr, f"{shell} can read it", read.stderr)


def look_at_desktop(usr):
    entry = usr / "share/applications/tilescope.desktop"
    if shutil.which("desktop-file-validate"):
        valid = subprocess.run(["desktop-file-validate", entry], text=True, capture_output=True)
        check(valid.returncode == 0 and not valid.stdout, "the desktop entry is valid", valid.stdout)
    keys = dict(line.split("=", 1) for line in entry.read_text().splitlines() if "=" in line)
    check((usr / "bin" / keys["Exec"].split()[0]).exists(), "it starts what is there", keys["Exec"])
    icons = sorted(str(p.relative_to(usr / "share/icons/hicolor")) for p in (usr / "share/icons/hicolor").rglob(f"{keys['Icon']}.*"))
    check(len(icons) == 4, "its icon comes in four sizes", icons)
    kinds = xml.etree.ElementTree.parse(usr / "share/mime/packages/tilescope.xml").getroot()
    space = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    kind = kinds.find("m:mime-type", space)
    check(keys["MimeType"] == kind.get("type") + ";", "it opens the type of our files", keys["MimeType"])
    mark = [m.get("value") for m in kind.iter(f"{{{space['m']}}}match") if m.get("offset") == "68"]
    identity = re.search(r"kRecordingId = (0x[0-9a-fA-F]+)", (ROOT / "core/base/output_file.h").read_text())[1]
    check(mark == [bytes.fromhex(identity[2:]).decode()], "which is known by SQLite's application_id", (mark, identity))


def install_and_remove(package, depends):
    with Rootfs() as debian:
        shutil.copy(package, debian.folder / "tmp")
        updated = debian("apt-get", "update", "-qq")
        check(updated.returncode == 0, "package lists are read", updated.stderr)
        # Everything that it pulls in comes first, so that what is left behind is its own.
        readied = debian("apt-get", "install", "-qq", "-y", "--no-install-recommends", *depends, "shared-mime-info",
                         "desktop-file-utils")
        check(readied.returncode == 0, "what it depends on is in Debian 12", readied.stderr[-2000:])
        before = debian.files()
        installed = debian("apt-get", "install", "-qq", "-y", "--no-install-recommends", f"/tmp/{package.name}")
        check(installed.returncode == 0, "apt installs it", installed.stderr[-2000:])
        check(debian("tilescope", "--version").stdout.startswith("Tilescope "), "tilescope starts from PATH")
        window = debian("tilescope-gui", "--screenshots", "/tmp/pictures", QT_QPA_PLATFORM="offscreen", XDG_RUNTIME_DIR="/tmp")
        check(window.returncode == 0 and any((debian.folder / "tmp/pictures").iterdir()), "the window paints itself",
              window.stderr)
        examined = debian("tilescope", "doctor")
        check(examined.returncode == 4 and re.search(r"^missing +LibTorch(?:.|\n)*TILESCOPE_TORCH", examined.stdout, re.M),
              "doctor tells how to get LibTorch", examined.stdout)
        types = (debian.folder / "usr/share/mime/globs2").read_text()
        check("application/x-tilescope:*.tscope" in types, "desktops know the type of our files")
        apps = (debian.folder / "usr/share/applications/mimeinfo.cache").read_text()
        check("application/x-tilescope=tilescope.desktop" in apps, "and what opens them")
        removed = debian("apt-get", "purge", "-qq", "-y", "tilescope")
        check(removed.returncode == 0, "apt removes it", removed.stderr[-2000:])
        left = debian.files() - before
        check(not left, "nothing of it is left", sorted(left)[:10])


def main():
    with tempfile.TemporaryDirectory(prefix="tilescope-deb-") as name:
        folder = pathlib.Path(name) / "with space"
        folder.mkdir()
        said = text_of(ROOT / "packaging" / "deb", PRESET, folder / "out")
        package = next((folder / "out").glob("tilescope_*_amd64.deb"))
        check(str(package) in said, "the script names the package", said)
        depends = look_at_package(package)
        subprocess.run(["dpkg-deb", "-x", package, folder / "tree"], check=True)
        usr = folder / "tree" / "usr"
        verbs = verbs_of(usr / "bin/tilescope")
        look_at_dependencies(usr, depends)
        start(usr, folder)
        import_package(usr, folder)
        look_at_man_pages(usr, verbs)
        look_at_completions(usr, folder, verbs)
        look_at_desktop(usr)
        if reason := why_not():
            print("it was not installed: " + reason)
        else:
            install_and_remove(package, depends)
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)


main()
