"""Lets `tilescope record` record PyTorch in the Python programs that it starts.

Python imports this file when it starts, because its folder comes first in PYTHONPATH. It then runs the user's own
sitecustomize. Nothing here raises into the program: what fails is not recorded.
"""

import os
import sys


def _run_the_next_sitecustomize():
    """Runs the sitecustomize that Python would have found without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or os.getcwd()) != here]
    if sys.version_info < (3, 4):
        _run_by_imp(path)
        return
    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _run_by_imp(path):
    """The same for Python 2 and the first versions of Python 3: runs it in the module of this file."""
    import imp

    file, name, description = imp.find_module("sitecustomize", path)
    try:
        imp.load_module("sitecustomize", file, name, description)
    finally:
        if file:
            file.close()


def _has_option_B():
    """Whether the command line lets Python write no bytecode; True where Python does not tell, before 3.10."""
    for word in getattr(sys, "orig_argv", ["", "-B"])[1:]:
        if not word.startswith("-") or word in ("-c", "-m"):
            return False
        if not word.startswith("--") and "B" in word:
            return True
    return False


try:
    # Earlier versions lack what the recorder needs.
    if "TILESCOPE_RECORD_FOLDER" in os.environ and sys.version_info >= (3, 6):
        import _tilescope_recorder

        _tilescope_recorder.start()
except Exception:
    pass
# `tilescope record` has set PYTHONDONTWRITEBYTECODE, so that these imports write no __pycache__.
if "TILESCOPE_RECORD_WRITE_BYTECODE" in os.environ and not _has_option_B():
    sys.dont_write_bytecode = False
try:
    _run_the_next_sitecustomize()
except ImportError:
    pass
