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
    """The recorder's NVTX functions, in the domain `tilescope`."""

    def __init__(self, library):
        import ctypes
        import threading

        self._c = ctypes
        self._open = threading.local()

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
        # PyDLL functions keep the interpreter's lock: these calls are shorter than giving it away.
        address = ctypes.c_void_p
        create = ctypes.PYFUNCTYPE(address, ctypes.c_char_p)(slots[12])
        self._register = ctypes.PYFUNCTYPE(address, address, ctypes.c_char_p)(slots[10])
        self._mark = ctypes.CFUNCTYPE(None, address, address)(slots[1])
        self._push = ctypes.PYFUNCTYPE(ctypes.c_int, address, address)(slots[4])
        self._pop = ctypes.PYFUNCTYPE(ctypes.c_int, address)(slots[5])
        self._domain = create(b"tilescope")
        self._names = {}

    def name(self, text):
        """A handle of a name for push()."""
        known = self._names.get(text)
        if known is None:
            registered = 3
            event = self._Attributes(version=3, size=self._c.sizeof(self._Attributes), message_type=registered,
                                     message=self._register(self._domain, text.encode("utf-8", "replace")))
            known = self._names[text] = (self._c.addressof(event), event)
        return known[0]

    def open(self, handle, key):
        """Opens a range of this thread; key identifies it."""
        stack = self._open.__dict__.get("stack")
        if stack is None:
            stack = self._open.stack = []
        self._push(self._domain, handle)
        stack.append(key)

    def close(self, key):
        """Closes a range and those within it that an exception has left open. Returns how many stay open."""
        stack = self._open.__dict__.get("stack", ())
        if key in stack:
            while stack:
                self._pop(self._domain)
                if stack.pop() == key:
                    break
        return len(stack)

    def tell(self, text):
        """Says what is no range: step, torch, node SEQUENCE, node, flush."""
        ascii_text = 1
        message = self._c.create_string_buffer(text.encode())
        event = self._Attributes(version=3, size=self._c.sizeof(self._Attributes), message_type=ascii_text,
                                 message=self._c.addressof(message))
        self._mark(self._domain, self._c.addressof(event))


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
    """Ranges of module calls. A module is named by its place in the module that contains it: layers.3, attention."""

    def __init__(self, recorder, torch):
        import weakref

        self._recorder = recorder
        self._torch = torch
        self._weakref = weakref
        self._handles = {}
        self._node_is_known = False

    def _handle(self, module):
        known = self._handles.get(id(module))
        if known is None:
            self._name_all(module)
            known = self._handles[id(module)]
        return known[1]

    def _name_all(self, root):
        """Names a module that no known module contains, and all that it contains."""
        containers = (self._torch.nn.ModuleList, self._torch.nn.ModuleDict)
        places = {"": root}
        for place, module in root.named_modules():
            places[place] = module
            if id(module) in self._handles:
                continue
            parts = place.split(".")
            first = len(parts) - 1
            while first > 0 and isinstance(places.get(".".join(parts[:first])), containers):
                first -= 1
            name = ".".join(parts[first:]) if place else type(module).__name__
            key = id(module)
            forget = self._weakref.ref(module, lambda _, key=key: self._handles.pop(key, None))
            self._handles[key] = (forget, self._recorder.name(name))

    def enter(self, module, inputs):
        self._recorder.open(self._handle(module), id(module))

    def leave(self, module, inputs, output):
        if self._recorder.close(id(module)) == 0 and not self._node_is_known:
            self._introduce_node(output)

    def _introduce_node(self, output):
        """Lets the recorder check how it reads autograd's nodes, by one whose number is known."""
        node = self._first_node(output)
        if node is None:
            return
        self._node_is_known = True
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
    compiler = getattr(torch, "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", None)
    if is_compiling is None:
        from torch._dynamo import is_compiling

    # A compiled function must not see the hooks: the compiler evaluates the condition and drops the rest.
    def before(module, inputs):
        if is_compiling():
            return None
        try:
            modules.enter(module, inputs)
        except Exception:
            pass
        return None

    def after(module, inputs, output):
        if is_compiling():
            return None
        try:
            modules.leave(module, inputs, output)
        except Exception:
            pass
        return None

    torch.nn.modules.module.register_module_forward_pre_hook(before)
    try:
        # Also after an exception, by which checkpoints end what they compute again.
        torch.nn.modules.module.register_module_forward_hook(after, always_call=True)
    except TypeError:
        torch.nn.modules.module.register_module_forward_hook(after)

    import functools

    def ranged(name, function):
        handle = recorder.name(name)

        @functools.wraps(function)
        def call(*arguments, **named):
            if is_compiling():
                return function(*arguments, **named)
            key = object()
            recorder.open(handle, key)
            try:
                return function(*arguments, **named)
            finally:
                recorder.close(key)

        return call

    torch.autograd.backward = ranged("backward", torch.autograd.backward)


def _record_optimizers(recorder, optimizer_module):
    import weakref

    handle = recorder.name("optimizer")
    first = []  # the optimizer whose steps are the program's

    def before(optimizer, arguments, named):
        try:
            recorder.open(handle, id(optimizer))
        except Exception:
            pass
        return None

    def after(optimizer, arguments, named):
        try:
            recorder.close(id(optimizer))
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
    import functools

    iterator = loader_module._BaseDataLoaderIter
    handle = recorder.name("data")
    function = iterator.__next__

    @functools.wraps(function)
    def call(self):
        key = object()
        recorder.open(handle, key)
        try:
            return function(self)
        finally:
            recorder.close(key)

    iterator.__next__ = call
    # Some programs call the older name.
    if getattr(iterator, "next", None) is function:
        iterator.next = call


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
