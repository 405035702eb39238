"""A host on this machine: an OpenSSH server with keys of its own, and the home folder of a user who knows it as `gpubox`.

What it starts has another home folder, a bare PATH and no Tilescope.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import time


def why_missing():
    """Why there can be none; empty: there can."""
    if not os.access("/usr/sbin/sshd", os.X_OK):
        return "there is no /usr/sbin/sshd; install openssh-server"
    return "" if shutil.which("ssh") else "there is no ssh; install openssh-client"


class LoopbackHost:
    """Serves within `with`.

    folder     for keys and both home folders
    address    where it listens
    prefix     command that starts the server: ('ip', 'netns', 'exec', NAME)
    remote     the home folder there; a folder of its own by default
    """

    def __init__(self, folder, address="127.0.0.1", prefix=(), remote=None):
        self.folder, self.address, self.prefix = folder, address, list(prefix)
        self.remote, self.home = remote or folder / "remote", folder / "home"
        (self.home / ".ssh").mkdir(parents=True)
        self.remote.mkdir(exist_ok=True)
        (folder / "bin").mkdir()
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.serve_as_usual()
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress {address}\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/user_key.pub\n"
            f"StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nForceCommand {folder}/force\n")
        self.know(folder / "host_key.pub")
        self.config = self.home / ".ssh/config"
        self.config.write_text(f"Host gpubox\n HostName {address}\n Port {self.port}\n IdentityFile {folder}/user_key\n"
                               f" IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile {folder}/known_hosts\n"
                               " GlobalKnownHostsFile /dev/null\n")
        self.script(folder / "bin/ssh", f'exec /usr/bin/setsid -w /usr/bin/ssh -F {self.config} "$@"')
        self.environment = {**os.environ, "HOME": str(self.home), "PATH": f"{folder}/bin:/usr/bin:/bin", "XDG_RUNTIME_DIR": "",
                            "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", "SSH_ASKPASS": "", "DISPLAY": ""}
        self.server = None

    @staticmethod
    def script(file, text):
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o700)

    def force(self, line):
        """What runs for every command of a client; $SSH_ORIGINAL_COMMAND is the command."""
        self.script(self.folder / "force", f"cd {self.remote}\n{line}")

    def serve_as_usual(self):
        self.force(f"exec {self.usual}")

    @property
    def usual(self):
        return f'env -i HOME={self.remote} PATH=/usr/bin:/bin SHELL=/bin/sh /bin/sh -c "$SSH_ORIGINAL_COMMAND"'

    def know(self, key):
        kind, text = key.read_text().split()[:2]
        (self.folder / "known_hosts").write_text(f"[{self.address}]:{self.port} {kind} {text}\n")

    def start(self):
        pathlib.Path("/run/sshd").mkdir(parents=True, exist_ok=True)  # as root sshd insists on it
        self.server = subprocess.Popen([*self.prefix, "/usr/sbin/sshd", "-D", "-f", self.folder / "sshd_config"],
                                       stderr=subprocess.DEVNULL)
        while True:
            with socket.socket() as trial:
                trial.settimeout(5)
                if trial.connect_ex((self.address, self.port)) == 0:
                    return self
            time.sleep(0.02)

    def cut(self):
        """Kills the server's side of every connection; what was started there goes on."""
        subprocess.run(["pkill", "-KILL", "-P", str(self.server.pid)])

    def stop(self):
        self.cut()
        self.server.terminate()
        self.server.wait()

    def forget_connection(self):
        subprocess.run(["ssh", "-O", "exit", "gpubox"], env=self.environment, capture_output=True)

    __enter__ = start

    def __exit__(self, *_):
        self.forget_connection()
        self.stop()
