"""Lets `tilescope record` record PyTorch in the Python programs that it starts.

Python imports this file when it starts, because its folder comes first in PYTHONPATH. It then runs the user's own
sitecustomize. Nothing here raises into the program: what fails is not recorded.
"""

import os
import sys


def _run_the_next_sitecustomize():
    """Runs the sitecustomize that Python would have found without this one."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or os.getcwd()) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    if "TILESCOPE_RECORD_FOLDER" in os.environ:
        import _tilescope_recorder

        _tilescope_recorder.start()
except Exception:
    pass
try:
    _run_the_next_sitecustomize()
except ImportError:
    pass
