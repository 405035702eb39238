"""Lets `tilescope record` record PyTorch in the Python programs that it starts.

Python imports this file when it starts, because its folder comes first in PYTHONPATH. It removes the folder from the search
path, so that the program finds the path that it would have without it, and lets Python import the user's own sitecustomize.
Nothing here raises into the program: what fails is not recorded.
"""

import os
import sys


def _say_at_end(reason):
    """Lets `tilescope record` say why this process is not recorded, if it uses PyTorch."""
    import atexit

    folder = os.environ.get("TILESCOPE_RECORD_FOLDER")

    def say():
        try:
            if folder and "torch" in sys.modules:
                os.symlink(reason[:1000], os.path.join(folder, "%d-0.end" % os.getpid()))
        except Exception:
            pass

    atexit.register(say)


_is_current_folder_meant = False
try:
    if "TILESCOPE_RECORD_FOLDER" in os.environ and sys.version_info < (3, 8):
        _say_at_end("PyTorch's steps, modules and memory need Python 3.8 or later; this is %d.%d" % sys.version_info[:2])
    elif "TILESCOPE_RECORD_FOLDER" in os.environ:
        import _tilescope_recorder

        # A script that writes PYTHONPATH=$PYTHONPATH:src, with nothing in it before, adds the current folder as well.
        _is_current_folder_meant = bool(_tilescope_recorder.option("no_path")) and os.pathsep in os.environ["PYTHONPATH"]
        _tilescope_recorder.start()
except Exception as error:
    # Only the main interpreter of a process is recorded. Others do not load ctypes (Python 3.12 and later), or the library refuses.
    if not (isinstance(error, (ImportError, TypeError)) and "subinterpreters" in str(error)):
        _say_at_end("the recorder could not be started in this Python: %s" % error)
_here = os.path.dirname(os.path.abspath(__file__))
_place = next((i for i, entry in enumerate(sys.path) if os.path.abspath(entry or os.getcwd()) == _here), None)
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.getcwd()) != _here]
if _is_current_folder_meant and _place is not None and os.getcwd() not in sys.path[:_place]:
    sys.path[_place:] = [os.getcwd()] + [entry for entry in sys.path[_place:] if entry != os.getcwd()]
sys.path_importer_cache.pop(_here, None)
_self = sys.modules.pop("sitecustomize", None)  # kept alive, because it is still running
# Where there is no other, the exception tells Python that there is none.
import sitecustomize  # noqa: E402,F401
