"""A Debian root folder that tests install into: a copy of the one that TILESCOPE_TEST_ROOTFS names."""
import os
import pathlib
import shutil
import subprocess
import tempfile

VARIABLE = "TILESCOPE_TEST_ROOTFS"


def why_not():
    """Why nothing can be installed here; empty where it can."""
    if not os.environ.get(VARIABLE):
        return f"{VARIABLE} names no folder of `debootstrap --variant=minbase bookworm DIR`"
    return "only root can enter another root folder" if os.geteuid() else ""


class Rootfs:
    """Lives between `with` and its end. Nothing of the host is mounted in it but /proc, so removing it removes no more."""

    def __init__(self):
        original = pathlib.Path(os.environ[VARIABLE]).resolve()
        self.place = tempfile.TemporaryDirectory(prefix="tilescope-rootfs-", dir=original.parent)
        self.folder = pathlib.Path(self.place.name) / "root"
        subprocess.run(["cp", "-a", original, self.folder], check=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.folder / "etc" / name)
        # No service is started by what is installed.
        (self.folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (self.folder / "usr/sbin/policy-rc.d").chmod(0o755)
        self.environment = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                            "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        certificates = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
        if certificates.exists():
            (self.folder / "etc/host-certificates.crt").write_bytes(certificates.read_bytes())
            self.environment["PIP_CERT"] = "/etc/host-certificates.crt"

    def __enter__(self):
        subprocess.run(["mount", "-t", "proc", "proc", self.folder / "proc"], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.folder / "proc"], check=True)
        self.place.cleanup()

    def __call__(self, *command, **variables):
        return subprocess.run(["chroot", self.folder, *command], env={**self.environment, **variables}, text=True,
                              capture_output=True)

    def files(self):
        """Every file except logs and those of package management."""
        found = subprocess.run(["chroot", self.folder, "find", "/bin", "/etc", "/lib", "/opt", "/usr"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        return set(found.splitlines())
