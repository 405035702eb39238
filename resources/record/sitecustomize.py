"""Records PyTorch's modules, optimizers, data loaders and steps in a program started by `tilescope record`.

Python imports this file when it starts, because its folder comes first in PYTHONPATH. It then runs the user's own
sitecustomize. Nothing here raises into the program: what fails is not recorded.

The recorder's library takes NVTX functions; this file asks it for its own, as a program that uses NVTX does.
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


class _Recorder:
    """The recorder's functions. Ranges are of objects that have a name: of a module, of an optimizer.

    name(object, text), forget(id), enter(object), which is False if the object has no name, and leave(object),
    which is False while more of them are open in this thread.
    """

    def __init__(self, library):
        import ctypes

        self._c = ctypes

        class Attributes(ctypes.Structure):
            _fields_ = [
                ("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
                ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32),
                ("message", ctypes.c_void_p)]

        self._Attributes = Attributes
        functions = 16
        slots = (ctypes.c_void_p * functions)()
        table = (ctypes.c_void_p * functions)(
            *[ctypes.addressof(slots) + i * ctypes.sizeof(ctypes.c_void_p) for i in range(functions)])
        core2 = 5

        def table_of(module, out, size):
            if module != core2:
                return 0
            out[0] = ctypes.addressof(table)
            size[0] = functions
            return 1

        get_table = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p),
                                     ctypes.POINTER(ctypes.c_uint))(table_of)

        class Callbacks(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("get_table", ctypes.c_void_p)]

        callbacks = Callbacks(ctypes.sizeof(Callbacks), ctypes.cast(get_table, ctypes.c_void_p).value)
        export_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
        export = export_type(lambda number: ctypes.addressof(callbacks) if number == 1 else None)
        self._keep = (slots, table, get_table, callbacks, export)
        initialize = ctypes.CDLL(library).InitializeInjectionNvtx2
        initialize.argtypes = [export_type]
        if not initialize(export):
            raise RuntimeError("not recorded")
        # PyDLL functions keep the interpreter's lock.
        address = ctypes.c_void_p
        self._mark = ctypes.CFUNCTYPE(None, address, address)(slots[1])
        self._mark_locked = ctypes.PYFUNCTYPE(None, address, address)(slots[1])
        self._domain = ctypes.PYFUNCTYPE(address, ctypes.c_char_p)(slots[12])(b"tilescope")

        class Functions(ctypes.Structure):
            _fields_ = [(name, ctypes.py_object) for name in ("name", "forget", "enter", "leave")]

        made = Functions()
        self._send(self._mark_locked, "python", ctypes.addressof(made))
        self.name, self.forget, self.enter, self.leave = made.name, made.forget, made.enter, made.leave

    def _send(self, mark, text, payload=0):
        ascii_text = 1
        message = self._c.create_string_buffer(text.encode())
        event = self._Attributes(version=3, size=self._c.sizeof(self._Attributes), message_type=ascii_text,
                                 message=self._c.addressof(message), payload=payload)
        mark(self._domain, self._c.addressof(event))

    def tell(self, text):
        """Says what is no range: step, torch, node SEQUENCE, node, yield, flush."""
        self._send(self._mark, text)

    def ranged(self, text, function, condition=None):
        """The function, whose calls are ranges with this name but where the condition holds."""
        import functools

        enter, leave = self.enter, self.leave

        @functools.wraps(function)
        def call(*arguments, **named):
            if condition is not None and condition():
                return function(*arguments, **named)
            enter(call)
            try:
                return function(*arguments, **named)
            finally:
                leave(call)

        self.name(call, text)
        return call


def _guarded(function):
    """The function, which ends in silence where it would raise."""
    import functools

    @functools.wraps(function)
    def call(*arguments):
        try:
            return function(*arguments)
        except Exception:
            return None

    return call


class _Modules:
    """Names of modules, by their place in the module that contains them: layers.3, attention."""

    def __init__(self, recorder, torch):
        import weakref

        self._recorder = recorder
        self._torch = torch
        self._weakref = weakref
        self._known = {}
        self.node_is_known = False

    def name_all(self, root):
        """Names a module that no known module contains, and all that it contains."""
        containers = (self._torch.nn.ModuleList, self._torch.nn.ModuleDict)
        places = {"": root}
        for place, module in root.named_modules():
            places[place] = module
            if id(module) in self._known:
                continue
            parts = place.split(".")
            first = len(parts) - 1
            while first > 0 and isinstance(places.get(".".join(parts[:first])), containers):
                first -= 1
            self._name(module, ".".join(parts[first:]) if place else type(module).__name__)

    def _name(self, module, text):
        key = id(module)

        def forget(_):
            self._known.pop(key, None)
            self._recorder.forget(key)

        self._known[key] = self._weakref.ref(module, forget)
        self._recorder.name(module, text.encode("utf-8", "replace").decode())

    def introduce_node(self, output):
        """Lets the recorder check how it reads autograd's nodes, by one whose number is known."""
        node = self._first_node(output)
        if node is None:
            return
        self.node_is_known = True
        self._recorder.tell("node %d" % node._sequence_nr())
        tell = _guarded(lambda *_: self._recorder.tell("node"))

        def confirm(gradients):
            tell()

        node.register_prehook(confirm)

    def _first_node(self, output):
        if isinstance(output, self._torch.Tensor):
            return output.grad_fn
        values = output.values() if isinstance(output, dict) else output
        if isinstance(values, (list, tuple)) or isinstance(output, dict):
            for value in values:
                if isinstance(value, self._torch.Tensor) and value.grad_fn is not None:
                    return value.grad_fn
        return None


def _record_torch(recorder, torch):
    recorder.tell("torch")
    modules = _Modules(recorder, torch)
    name_all = _guarded(modules.name_all)
    introduce_node = _guarded(modules.introduce_node)
    enter, leave = recorder.enter, recorder.leave
    compiler = getattr(torch, "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", None)
    if is_compiling is None:
        from torch._dynamo import is_compiling

    import functools

    module_call = torch.nn.Module.__call__

    # Hooks of all modules would make PyTorch take a way through every call that is twice as long as the call.
    # A compiled function must not see the ranges: the compiler evaluates the condition and drops the rest.
    @functools.wraps(module_call)
    def call(self, *args, **kwargs):
        if is_compiling():
            return module_call(self, *args, **kwargs)
        if not enter(self):
            name_all(self)
            enter(self)
        try:
            output = module_call(self, *args, **kwargs)
        except BaseException:
            leave(self)
            raise
        if leave(self) and not modules.node_is_known:
            introduce_node(output)
        return output

    torch.nn.Module.__call__ = call
    _guarded(_yield_to_profiler)(recorder, torch)
    torch.autograd.backward = recorder.ranged("backward", torch.autograd.backward, is_compiling)


def _yield_to_profiler(recorder, torch):
    """Leaves the GPU to torch.profiler, or says that it will see nothing of it: CUPTI has room for one."""
    module = torch.autograd.profiler
    prepare = module._prepare_profiler
    yields = "TILESCOPE_RECORD_YIELD" in os.environ
    said = []

    def _prepare_profiler(*arguments, **named):
        if yields:
            _guarded(recorder.tell)("yield")
        elif not said and torch.cuda.is_available():
            said.append(True)
            print("tilescope record: the program starts torch.profiler, which gets no GPU events while it is recorded;"
                  " --yield-to-torch leaves them to it", file=sys.stderr, flush=True)
        return prepare(*arguments, **named)

    module._prepare_profiler = _prepare_profiler


def _record_optimizers(recorder, optimizer_module):
    import weakref

    named = {}
    first = []  # the optimizer whose steps are the program's

    def before(optimizer, arguments, named_arguments):
        try:
            if not recorder.enter(optimizer):
                key = id(optimizer)
                named[key] = weakref.ref(optimizer, lambda _: (named.pop(key, None), recorder.forget(key)))
                recorder.name(optimizer, "optimizer")
                recorder.enter(optimizer)
        except Exception:
            pass
        return None

    def after(optimizer, arguments, named_arguments):
        try:
            recorder.leave(optimizer)
            if not first or first[0]() is None:
                first[:] = [weakref.ref(optimizer)]
            if first[0]() is optimizer:
                recorder.tell("step")
        except Exception:
            pass
        return None

    optimizer_module.register_optimizer_step_pre_hook(before)
    optimizer_module.register_optimizer_step_post_hook(after)


def _record_loaders(recorder, loader_module):
    iterator = loader_module._BaseDataLoaderIter
    function = iterator.__next__
    iterator.__next__ = recorder.ranged("data", function)
    # Some programs call the older name.
    if getattr(iterator, "next", None) is function:
        iterator.next = iterator.__next__


class _Watch:
    """Calls back once a module has been imported."""

    def __init__(self, wanted):
        self._wanted = wanted

    def find_spec(self, name, path=None, target=None):
        action = self._wanted.pop(name, None)
        if action is None:
            return None
        try:
            import importlib.util

            spec = importlib.util.find_spec(name) if path is None else self._find(name, path, target)
            if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
                return spec
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                _guarded(action)(module)

            spec.loader.exec_module = exec_module
            return spec
        except Exception:
            return None

    def _find(self, name, path, target):
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


def _start():
    library = os.environ.get("NVTX_INJECTION64_PATH")
    if not library or "TILESCOPE_RECORD_FOLDER" not in os.environ:
        return
    started = []

    def recorder():
        if not started:
            started.append(_Recorder(library))
        return started[0]

    def processes(util):
        # Children of multiprocessing end without running what exit() runs.
        def flush():
            if started:
                started[0].tell("flush")

        util.Finalize(None, _guarded(flush), exitpriority=-100)

    sys.meta_path.insert(0, _Watch({
        "torch": lambda module: _record_torch(recorder(), module),
        "torch.optim.optimizer": lambda module: _record_optimizers(recorder(), module),
        "torch.utils.data.dataloader": lambda module: _record_loaders(recorder(), module),
        "multiprocessing.util": processes,
    }))


try:
    _start()
except Exception:
    pass
try:
    _run_the_next_sitecustomize()
except ImportError:
    pass
