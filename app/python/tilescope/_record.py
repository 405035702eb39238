"""Records the process that it runs in, and gives ranges and steps names."""

import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

from tilescope._programs import FOLDER, program
from tilescope._store import Error

_VARIABLES = ("TILESCOPE_RECORD_FOLDER", "TILESCOPE_RECORD_OPTIONS")
_NVTX = "NVTX_INJECTION64_PATH"
# Where NVIDIA's driver can be asked: on Linux, in WSL, on Jetson.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap")

_recorder = None  # while this process is recorded
_was_recorded = False
_keys = {}  # an object for each name of a range


class _Key(object):
    pass


def _require_safe(path):
    """A library that others may write would run in this program."""
    try:
        facts = os.stat(path)
    except OSError:
        raise Error(path, "is missing", "install Tilescope with its library")
    if facts.st_uid not in (0, os.geteuid()) or facts.st_mode & 0o022:
        raise Error(path, "can be written by other users, so it is not loaded", "run chmod go-w on it")


def _say(sentence):
    sys.stderr.write("tilescope.record: " + sentence + "\n")


class record(object):
    """Records this process while the block runs, and adds the run to a .tscope file.

        with tilescope.record("x.tscope"):
            train()

    Records kernels, ranges, and of PyTorch modules, memory and steps, as `tilescope record` does. A process can be
    recorded once. In a program that `tilescope record` runs it does nothing.
    """

    def __init__(self, file, modules=True, memory=True, ops=False, stacks=False):
        self._file = os.path.abspath(os.fspath(file))
        words = (("modules", modules), ("memory", memory), ("ops", ops), ("stacks", stacks))
        self._wanted = ",".join(["steps", *(word for word, wanted in words if wanted)])
        self._folder = None

    def __enter__(self):
        global _recorder, _was_recorded
        if _find():
            _say("this process is being recorded already")
            return self
        if _was_recorded:
            raise Error("tilescope.record", "this process was recorded before", "record the second part in another process")
        if os.environ.get(_NVTX):
            raise Error(_NVTX, "another tool is set to trace this program: " + os.environ[_NVTX], "unset it")
        self._program = program("tilescope.record")
        root = os.path.dirname(os.path.dirname(self._program))
        library = os.path.realpath(os.path.join(root, "lib", "libtilescope_record.so"))
        _require_safe(library)
        _require_safe(os.path.dirname(library))
        resources = os.environ.get("TILESCOPE_RESOURCES") or os.path.join(root, "share", "tilescope")
        _require_safe(os.path.join(resources, "record"))
        try:
            self._folder = tempfile.mkdtemp(prefix=os.path.basename(self._file) + ".recording-",
                                            dir=os.path.dirname(self._file))
        except OSError as error:
            raise Error(self._file, "no folder can be created beside it: " + str(error), "check its folder")
        os.environ.update({_NVTX: library, "TILESCOPE_RECORD_FOLDER": self._folder,
                           "TILESCOPE_RECORD_OPTIONS": _options(torch=self._wanted, plugins=_plugins() + os.path.dirname(library))})
        try:
            bootstrap = _load(os.path.join(resources, "record", "_tilescope_recorder.py"))
            _recorder = bootstrap.recorder()
            _was_recorded = True
            if _has_cuda():
                ctypes.CDLL(library).InitializeInjection()
            bootstrap.start()
        except BaseException:
            self._forget_variables()
            shutil.rmtree(self._folder, ignore_errors=True)
            _recorder = None
            raise
        # Of this process only: its children have no part in it.
        for name in _VARIABLES:
            os.environ.pop(name, None)
        return self

    def __exit__(self, kind, error, trace):
        global _recorder
        if self._folder is None:
            return False
        bootstrap = sys.modules["_tilescope_recorder"]
        bootstrap.finish()
        _recorder = None
        self._forget_variables()
        command = [self._program, "import", self._folder, "-o", self._file, "--name", os.path.basename(sys.argv[0] or "python")]
        joined = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if joined.returncode == 0:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._say_what_is_missing()
        else:
            _say(joined.stderr.decode(errors="replace").strip() or "nothing was recorded")
            _say("the recording is in " + self._folder)
        return False

    def _say_what_is_missing(self):
        if not _has_cuda():
            return
        from tilescope._recording import open as open_recording

        facts = open_recording(self._file, pandas=False).environment()
        reasons = [value for key, value in zip(facts["key"], facts["value"]) if key == "record.device"]
        if reasons:
            _say("no GPU work was recorded: " + reasons[-1])

    @staticmethod
    def _forget_variables():
        for name in _VARIABLES + (_NVTX,):
            os.environ.pop(name, None)


def _has_cuda():
    """Whether this process can use CUDA, also if it does so only later: CUPTI is loaded before the block begins.

    Does not ask CUDA: a process that has initialised it cannot use it in a forked child.
    """
    if "cupy" in sys.modules or "jax" in sys.modules:
        return True
    torch = sys.modules.get("torch")
    return torch is not None and torch.version.cuda is not None and (
        torch.cuda.is_initialized() or any(map(os.path.exists, _DRIVERS)))


def _plugins():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "tilescope", "plugins") + ":"


def _options(**values):
    """The variable that passes settings to the recorder; see core/record/options.h."""
    def encoded(value):
        return "".join("%%%02X" % ord(c) if c in ";%" or ord(c) < 32 or ord(c) == 127 else c for c in value)

    return ";".join(name + "=" + encoded(value) for name, value in values.items())


def _load(path):
    name = "_tilescope_recorder"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes_bytecode = not sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # the folder is the installation's
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = not writes_bytecode
    return module


def _find():
    """The recorder of this process; None while it is not recorded."""
    global _recorder
    if _recorder is None and "TILESCOPE_RECORD_FOLDER" in os.environ:
        bootstrap = sys.modules.get("_tilescope_recorder")
        try:
            _recorder = bootstrap.recorder() if bootstrap else None
        except Exception:
            _recorder = None
    return _recorder


class range(object):
    """A range of this thread with a name, for a block or for the calls of a function.

        with tilescope.range("tokenize"):
            ...

        @tilescope.range("evaluate")
        def evaluate(): ...

    Costs next to nothing while the process is not recorded.
    """

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        if _recorder is not None:
            _recorder.enter(_key(self._name))
        return self

    def __exit__(self, kind, error, trace):
        if _recorder is not None:
            _recorder.leave(_key(self._name))
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def call(*arguments, **named):
            with self:
                return function(*arguments, **named)

        return call


def _key(name):
    key = _keys.get(name)
    if key is None:
        key = _keys[name] = _Key()
        _recorder.name(key, str(name), False)
    return key


def step():
    """Ends a step of the program; the next one begins. From the first call on, optimizers no longer end steps."""
    if _recorder is not None:
        _recorder.own_steps()
        _recorder.tell("step")


_find()
