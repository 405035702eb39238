#!/usr/bin/env python3
"""What packaging/dev says where it cannot go on: one sentence each, exit 1, nothing installed.

Every case runs the real script with a few commands replaced by stand-ins in PATH.
usage: dev_messages.py ROOT
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
DEV = ROOT / "packaging" / "dev"


def stand_in(folder, name, body):
    path = folder / name
    path.write_text("#!/bin/sh\n" + body + "\n")
    path.chmod(0o755)


def run(verb, stand_ins=(), hide=(), environment=None, user=None, wheels=False):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        bin_ = folder / "bin"
        bin_.mkdir()
        for tool, body in stand_ins:
            stand_in(bin_, tool, body)
        path = f"{bin_}:/usr/bin:/bin"
        if hide:  # a PATH of links to everything but the hidden commands
            for source in ("/usr/bin", "/bin"):
                for tool in os.listdir(source):
                    link = bin_ / tool
                    if tool not in hide and not link.exists():
                        link.symlink_to(f"{source}/{tool}")
            path = str(bin_)
        if wheels:  # as if the pinned wheels had been installed
            lock = hashlib.sha256((ROOT / "packaging" / "wheels.lock").read_bytes()).hexdigest()[:16]
            home = folder / "cache" / "tilescope" / lock
            home.mkdir(parents=True)
            (home / "complete").touch()
        env = {"PATH": path, "HOME": name, "XDG_CACHE_HOME": str(folder / "cache"), **(environment or {})}
        for key in ("PIP_CERT",):
            if key in os.environ:
                env[key] = os.environ[key]
        command = ["/bin/bash", str(DEV), *verb.split()]
        if user and os.geteuid() == 0:
            command = ["/usr/bin/setpriv", f"--reuid={user}", "--clear-groups", *command]
        return subprocess.run(command, env=env, text=True, capture_output=True, stdin=subprocess.DEVNULL)


ALL_PACKAGES = ("dpkg-query", "echo 'install ok installed'")
CASES = [
    ("another system", dict(verb="setup", stand_ins=[("uname", "echo Darwin arm64")]), ["x86-64 Linux", "Darwin arm64"]),
    ("no apt-get", dict(verb="setup", hide=("apt-get",)), ["no apt-get", "Debian 12"]),
    ("no sudo", dict(verb="setup", stand_ins=[("dpkg-query", "exit 1")], hide=("sudo",), user=65534),
     ["sudo is not available", "apt-get install", "libyaml-cpp-dev"]),
    ("packages cannot be had", dict(verb="setup", stand_ins=[("dpkg-query", "exit 1"), ("apt-get", "exit 100"),
                                                              ("sudo", "shift 0; exec \"$@\"")]),
     ["apt-get update failed", "network"]),
    ("little disk", dict(verb="setup", stand_ins=[ALL_PACKAGES, ("df", "printf 'Avail\\n1048576\\n'")]),
     ["has 1 GiB free and needs", "XDG_CACHE_HOME"]),
    ("failed download", dict(verb="setup", stand_ins=[ALL_PACKAGES],
                             environment={"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0",
                                          "PIP_FIND_LINKS": "", "PIP_DEFAULT_TIMEOUT": "2"}),
     ["could not be installed", "network"]),
    ("a TILESCOPE_TORCH that is none", dict(verb="setup", stand_ins=[ALL_PACKAGES], wheels=True,
                                            environment={"TILESCOPE_TORCH": "/usr/share"}),
     ["TILESCOPE_TORCH=/usr/share has no LibTorch", "name a torch 2.11"]),
    ("unknown benchmark", dict(verb="bench sotre"), ["no benchmark 'sotre'", "store"]),
    ("unknown verb", dict(verb="biuld"), ["unknown verb 'biuld'"]),
]


def not_installed():
    """The listed packages that are not installed under the name in the list, so that every call would ask apt for them again."""
    packages = [line.split()[0] for line in (ROOT / "packaging/packages.list").read_text().splitlines() if re.match(r"[a-z]", line)]
    listed = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Status}\n"], text=True, stdout=subprocess.PIPE, check=True)
    installed = {line.split()[0] for line in listed.stdout.splitlines() if line.endswith("install ok installed")}
    return [package for package in packages if package not in installed]


def main():
    failed = 0
    # Where nothing is installed, the libraries come from elsewhere, and the list says nothing.
    missing = not_installed() if shutil.which("dpkg-query") else []
    if "qt6-base-dev" not in missing:
        print(f"{'FAILED' if missing else 'passed'}: the set-up's packages are installed{': ' if missing else ''}{', '.join(missing)}")
        failed += bool(missing)
    for name, arguments, expected in CASES:
        result = run(**arguments)
        ours = [line for line in result.stderr.splitlines() if line.startswith("packaging/dev: ")]
        problems = [f"does not say '{part}'" for part in expected if not any(part in line for line in ours)]
        if result.returncode != 1:
            problems.append(f"exit {result.returncode} instead of 1")
        if "\033" in result.stderr + result.stdout:
            problems.append("writes escapes for a terminal into a file")
        if len(ours) != 1:
            problems.append(f"{len(ours)} sentences instead of one")
        print(f"{'FAILED' if problems else 'passed'}: {name}{': ' if problems else ''}{'; '.join(problems)}")
        if problems:
            print(result.stderr)
            failed += 1
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


main()
