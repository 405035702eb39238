"""Tilescope's programs and operator library, which the wheel contains."""

import importlib.util
import os
import shutil
import sys

from tilescope._store import Error

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def operator_library():
    """The path of the attention operator's library, for torch.ops.load_library().

    Raises Error if this package was not installed from the wheel.
    """
    return _required(os.path.join(FOLDER, "lib", "libtilescope_ops.so"))


def command_line():
    """Becomes the program `tilescope`."""
    _become("tilescope")


def engine():
    """Becomes the program `tilescope-engine`."""
    _become("tilescope-engine")


def program(wanted_by):
    """The path of the command line: of TILESCOPE_PROGRAM, of the wheel, or in PATH.

    wanted_by  what needs it, for the error
    """
    program = _found()
    if not program:
        raise Error(wanted_by, "the program tilescope was not found",
                    "put its folder into PATH, or install the wheel that `packaging/dev wheel` makes")
    return os.path.realpath(program)


def has_program():
    """Whether program() finds the command line."""
    return bool(_found())


def _found():
    named = os.environ.get("TILESCOPE_PROGRAM")
    own = os.path.join(FOLDER, "bin", "tilescope")
    # A relative element of PATH would run a program of the current folder.
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    return named or (own if os.path.exists(own) else shutil.which("tilescope", path=os.pathsep.join(folders)))


def _required(path):
    if not os.path.exists(path):
        raise Error(path, "this installation of the package has no programs",
                    "install the wheel that `packaging/dev wheel` makes")
    return path


def _become(name):
    program = _required(os.path.join(FOLDER, "bin", name))
    # The torch of this Python, which need not be that of the first python3 in PATH.
    torch = importlib.util.find_spec("torch")
    if torch and torch.origin:
        os.environ.setdefault("TILESCOPE_TORCH", os.path.dirname(torch.origin))
    os.execv(program, [program, *sys.argv[1:]])
