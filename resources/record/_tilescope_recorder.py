"""Records PyTorch's modules, memory, ops, optimizers, data loaders and steps. sitecustomize.py and the Python package
start it. Nothing here raises into the program: what fails is not recorded. Only exceptions that the program itself raises
here, by a handler of a signal, reach it.

Nothing of it is seen by what the program uses to see its own calls: profile and trace functions, such as those of cProfile
and coverage, and torch.compile.
"""

import os
import sys

_Spec = type(sys.__spec__)  # ModuleSpec
# Coverage, and what reloads a program whose files have changed, look at the files of all modules.
_file = globals().pop("__file__")


class Recorder:
    """The recorder of this process, with the functions of its library, which app/record/python_functions.h describes."""

    def __init__(self):
        library = functions()
        if not library.start():
            raise RuntimeError("not recorded")
        vars(self).update((name, value) for name, value in vars(library).items() if not name.startswith("_"))
        self.folder = os.environ["TILESCOPE_RECORD_FOLDER"]
        self._watch_ends()
        if option("host_samples") not in ("", "off"):
            guarded(self._record_stacks)()

    def _record_stacks(self):
        """Records the Python stacks of threads that launch, if the memory has stacks where they are expected: also one
        with a generator, a callback of a C function, and names beyond ASCII."""
        minor = sys.version_info[1]
        if sys.implementation.name != "cpython" or sys.version_info < (3, 9):
            self.fact("host_samples", "Python stacks were not read: they need CPython 3.9 or later")
            return
        if "free-threading" in sys.version:
            self.fact("host_samples", "Python stacks were not read: they need a Python with the interpreter's lock")
            return
        names = {"check": lambda: self.check_stacks(minor)}
        exec(compile("def gr\u00f6\u00dfe\u540d():\n\n    return check()\n", "n\u00e9.py", "exec"), names)
        nested = (same for same in map(lambda _: names["gr\u00f6\u00dfe\u540d"](), (0,)))
        if self.check_stacks(minor) and next(nested):
            _at_end.append(self.stop_stacks)
            self.start_stacks()
            # Stacks name files from the folder of the program or of its packages.
            packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
            self.fact("packages", os.pathsep.join(packages))
            self.fact("folder", os.getcwd())

    def _watch_ends(self):
        """Writes what was recorded before this program ends without what exit() runs."""
        import types

        try:
            import posix

            ends = (posix._exit, posix.execv, posix.execve)
        except (ImportError, AttributeError):
            return
        if all(type(end) is types.BuiltinFunctionType for end in ends):
            self.watch_ends(object.__basicsize__, *ends)


_library = []


def functions():
    """The functions of the library, an extension module that sys.modules does not list. Loading it starts nothing."""
    if not _library:
        import _imp

        known = set(sys.modules)
        library = _imp.create_dynamic(_Spec("_tilescope", None, origin=os.environ["NVTX_INJECTION64_PATH"]))
        for name in set(sys.modules) - known:  # in Python's development mode also the codec for its name
            package, _, part = name.rpartition(".")
            vars(sys.modules.get(package, library)).pop(part, None)
            del sys.modules[name]
        if not library.prepare_calls(object.__basicsize__):
            raise RuntimeError("this Python lacks functions")
        _library.append(library)
    return _library[0]


def option(name):
    """A setting of the recording; see core/record/options.h."""
    for setting in os.environ.get("TILESCOPE_RECORD_OPTIONS", "").split(";"):
        if setting.startswith(name + "="):
            first, *rest = setting[len(name) + 1:].split("%")
            return first + "".join(chr(int(part[:2], 16)) + part[2:] for part in rest)
    return ""


def _code_of(handler):
    """The code that the interpreter executes for a handler of a signal; None if it is not Python's."""
    for attribute in ("func", "__func__"):  # of a partial call, of a method
        handler = getattr(handler, attribute, handler)
    return getattr(handler, "__code__", None) or getattr(getattr(type(handler), "__call__", None), "__code__", None)


def raised_by_program(error):
    """Whether a handler of a signal raised this exception: Python calls handlers wherever the program is, also in functions
    of the recorder, and the program expects their exceptions."""
    if not isinstance(error, Exception):
        return True  # KeyboardInterrupt, SystemExit
    try:
        import signal

        codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    except Exception:  # the interpreter ends
        return False
    place = error.__traceback__
    while place is not None:
        if place.tb_frame.f_code in codes:
            return True
        place = place.tb_next
    return False


def guarded(function):
    """The function, which returns None instead of raising an exception that is not the program's. What the program uses to
    see its calls does not see it."""

    def call(*arguments):
        try:
            return function(*arguments)
        except Exception as error:
            if raised_by_program(error):
                raise
            return None

    return functions().hidden(call)


def _parts(module, kind):
    """What a module keeps in _modules, _parameters or _buffers, without calling its code."""
    return object.__getattribute__(module, "__dict__").get(kind) or {}


def _named_modules(module, place="", known=None):
    """Place and module, as torch.nn.Module.named_modules() gives them."""
    known = set() if known is None else known
    if id(module) not in known:
        known.add(id(module))
        yield place, module
        for name, part in list(_parts(module, "_modules").items()):
            if part is not None:
                yield from _named_modules(part, place + "." * bool(place) + name, known)


def say(sentence):
    sys.stderr.write("tilescope record: " + sentence + "\n")
    sys.stderr.flush()


def _utf8(text):
    return text.encode("utf-8", "replace").decode()


class _Modules:
    """Names of modules, by their place in the module that contains them: layers.3, attention."""

    def __init__(self, recorder, torch, memory):
        import functools
        import weakref

        self._recorder = recorder
        self._torch = torch
        self._memory = memory
        self._partial = functools.partial
        self._weakref = weakref
        self._known = {}
        self._process = os.getpid()
        self._node_size = object.__basicsize__ + 2 * tuple.__itemsize__  # of an object with a std::shared_ptr

    def name_all(self, root):
        """Names a module that no known module contains, and all that it contains."""
        if self._process != os.getpid():  # a forked child, whose recording has no parameters yet
            self._process = os.getpid()
            self._known.clear()
        c = self._torch._C
        tracing = c._get_tracing_state()  # of torch.jit.trace, to which sizes are values of the program
        with c.DisableTorchFunction():  # modes of the program see only what the program calls
            if tracing is None:
                self._name_all(root)
                return True
            c._set_tracing_state(None)
            try:
                self._name_all(root)
            finally:
                c._set_tracing_state(tracing)
        return True

    def _name_all(self, root):
        containers = (self._torch.nn.ModuleList, self._torch.nn.ModuleDict)
        places = {"": root}
        # torch.compile wraps a module: the two are one range, with the name of what is compiled.
        compiled = _parts(root, "_modules").get("_orig_mod")
        paths = {"": type(root if compiled is None else compiled).__name__}
        for place, module in _named_modules(root):
            places[place] = module
            if module is compiled:
                name = ""
                paths[place] = paths[""]
            elif place:
                parts = place.split(".")
                first = len(parts) - 1
                while first > 0 and isinstance(places.get(".".join(parts[:first])), containers):
                    first -= 1
                name = ".".join(parts[first:])
                paths[place] = paths.get(".".join(parts[:first]), "") + "/" + name
            else:
                name = paths[place]
            if not self._is_known(module):
                self._name(module, name)
                if self._memory is not None:
                    guarded(self._memory.hold_parameters)(module, paths[place])

    def _name(self, module, text):
        key = id(module)
        # A call without code of Python, in which no handler of a signal runs: its exception would be lost.
        self._known[key] = self._weakref.ref(module, self._partial(self._recorder.forget, key))
        self._recorder.name(module, _utf8(text), True)

    def _is_known(self, module):
        known = self._known.get(id(module))
        return known is not None and known() is module

    def introduce_node(self, output):
        """Lets the recorder check how it reads autograd's nodes, with one whose sequence number is known. The node is not
        evaluated: the first evaluation of a process starts threads and asks CUDA for its devices, which may warn, and forked
        children could use neither then."""
        with self._torch._C.DisableTorchFunction():
            node = self._first_node(output)
            if node is None:
                return False
            # One of the program's if it is created in C++; PyTorch 2.0 does not tell Python its number.
            if type(node).__basicsize__ != self._node_size or not hasattr(node, "_sequence_nr"):
                with self._torch.enable_grad(), self._torch._C._DisableTorchDispatch():
                    node = self._torch.zeros(1, device="cpu", requires_grad=True).clone().grad_fn
            if type(node).__basicsize__ != self._node_size:
                return True  # the layout of the object is unknown: give up
            number = node._sequence_nr() if hasattr(node, "_sequence_nr") else -1
            return self._recorder.check_node(node, object.__basicsize__, number)

    def _first_node(self, output):
        if isinstance(output, self._torch.Tensor):
            return output.grad_fn
        values = output.values() if isinstance(output, dict) else output
        if isinstance(values, (list, tuple)) or isinstance(output, dict):
            for value in values:
                if isinstance(value, self._torch.Tensor) and value.grad_fn is not None:
                    return value.grad_fn
        return None


class _Plugin:
    """The plug-in for this PyTorch; raises where there is none."""

    def __init__(self, recorder, torch):
        import ctypes

        version = torch.__version__
        names = ["tilescope_torch-%s.so" % version, "tilescope_torch-%s.so" % ".".join(version.split(".")[:2])]
        for folder in option("plugins").split(":"):
            for name in names:
                path = os.path.join(folder, name)
                if folder and self._is_safe(folder) and self._is_safe(path):
                    library = ctypes.CDLL(path)
                    library.tilescope_plugin_torch.restype = ctypes.c_char_p
                    library.tilescope_plugin_start.argtypes = [ctypes.c_void_p]
                    built = library.tilescope_plugin_torch().decode()
                    if built.split(".")[:2] == version.split(".")[:2] and library.tilescope_plugin_start(recorder.plugin()):
                        self.library = library
                        return
        raise LookupError("there is no plug-in for PyTorch " + version)

    @staticmethod
    def _is_safe(path):
        """Whether only its owner or root can write it: others could run code in the user's programs."""
        try:
            facts = os.stat(path)
        except OSError:
            return False
        return facts.st_uid in (0, os.geteuid()) and not facts.st_mode & 0o022


class _Memory:
    """Allocations, by the plug-in or by PyTorch's own recorder."""

    def __init__(self, recorder, torch, plugin, stacks):
        self._recorder = recorder
        self._torch = torch
        self._stacks = stacks
        self._plugin = plugin
        self._follows_host = plugin is not None and bool(plugin.library.tilescope_plugin_host_memory())
        if self._follows_host:
            recorder.fact("memory", "allocations of GPU and CPU by the plug-in for PyTorch %s" % torch.__version__)
        else:
            # Replaced if PyTorch's own recorder can be used.
            recorder.fact("memory", "memory is not recorded: there is no plug-in for this LibTorch, %s;"
                          " `tilescope record --build-plugin` compiles one" % torch.__version__)
        torch.cuda._lazy_call(guarded(self._follow_devices))

    def hold_parameters(self, module, path):
        tensors = [*_parts(module, "_parameters").items(), *_parts(module, "_buffers").items()]
        for name, tensor in tensors:
            for part in self._plain(tensor):
                if part.device.type not in ("cuda", "cpu"):
                    continue
                storage = part.untyped_storage()
                device = part.device.index or 0 if part.device.type == "cuda" else -1
                self._recorder.hold("parameters", storage.data_ptr(), storage.nbytes(), _utf8(path + " " + name),
                                    str(list(part.shape)), str(part.dtype).replace("torch.", ""), device)

    def _plain(self, tensor):
        """The tensors that have memory of their own: of a DTensor, for example, the part of this rank. A FakeTensor has
        none, and asking it for its address warns."""
        torch = self._torch
        if tensor is None or torch.nn.parameter.is_lazy(tensor):
            return []
        # The subclasses of PyTorch that add nothing to a tensor.
        plain = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor))
        if type(tensor) in plain:
            return [tensor]
        flatten = getattr(type(tensor), "__tensor_flatten__", None)
        if flatten is None:
            return []
        return [part for name in flatten(tensor)[0] for part in self._plain(getattr(tensor, name))]

    def _follow_devices(self):
        """Called when CUDA has been initialised; nothing is allocated yet."""
        torch = self._torch
        # torch.cuda.device_count() asks NVML first, and warns where that fails.
        count = torch._C._cuda_getDeviceCount()
        if self._plugin is not None and self._plugin.library.tilescope_plugin_device_memory(count):
            return
        most = 1000000  # events
        stacks = self._stacks
        if torch.__version__.startswith("2.0."):
            torch.cuda.memory._record_memory_history(True, stacks, most, stacks)
        else:
            torch.cuda.memory._record_memory_history("all", "alloc" if stacks else None, "python", most)
        self._recorder.fact(
            "memory", "allocations of the GPU by PyTorch's own recorder, whose times are whole microseconds and whose"
            " backward work has no module; %s PyTorch %s"
            % ("those of the CPU by the plug-in for" if self._follows_host else "there is no plug-in for", torch.__version__))

        import atexit

        _at_end.append(self.write_snapshot)
        atexit.register(guarded(self.write_snapshot))

    def write_snapshot(self):
        import pickle

        if not os.path.isdir(self._recorder.folder):
            return
        folder = os.path.join(self._recorder.folder, "snapshots")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = "%d.pickle" % os.getpid()
        with os.fdopen(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            pickle.dump(self._torch.cuda.memory._snapshot(), file)
        self._recorder.fact("snapshot", "snapshots/" + name)


class _Ops:
    """Ops with their shapes, by the plug-in or by PyTorch's NVTX ranges."""

    def __init__(self, recorder, torch, plugin):
        self._recorder = recorder
        self._torch = torch
        self._ranges = self._library = None
        if plugin is not None and plugin.library.tilescope_plugin_ops():
            self._library = plugin.library
            recorder.fact("ops", "ops with shapes by the plug-in for PyTorch %s; views, such as aten::transpose, are left out"
                          % torch.__version__)
        else:
            torch.cuda._lazy_call(guarded(self._use_nvtx))

    def _use_nvtx(self):
        self._recorder.tell("ops")
        self._ranges = self._torch.autograd.profiler.emit_nvtx(record_shapes=True)
        self._ranges.__enter__()
        self._recorder.fact("ops", "ops with shapes by PyTorch's NVTX ranges, of the thread that initialised CUDA and"
                            " its backward work; no plug-in for PyTorch %s" % self._torch.__version__)

    def stop(self):
        """A profiler of the program starts. PyTorch has room for one that takes its NVTX ranges."""
        if self._library is not None:
            self._library.tilescope_plugin_observe_views()
        ranges, self._ranges = self._ranges, None
        if ranges is not None:
            ranges.__exit__(None, None, None)


def _watch_calls(recorder, torch, modules):
    """Ranges of module calls."""
    import types

    name_all, introduce_node = guarded(modules.name_all), guarded(modules.introduce_node)
    function = torch.nn.Module._call_impl
    if isinstance(function, types.FunctionType):
        recorder.keep = (function, name_all, introduce_node)
        if recorder.watch(function, types.FunctionType.__basicsize__, name_all, introduce_node):
            return
    recorder.fact("modules", "modules are not recorded: this Python calls functions in an unknown way")


def _watch_profiler(recorder, torch, ops):
    """Leaves the GPU to torch.profiler, or says that it will see nothing of it: CUPTI has room for one."""
    yields = option("yield") != ""
    module = torch.autograd.profiler
    said, waits = [], []

    def stop(_):
        if ops is not None:
            ops.stop()
        if yields:
            recorder.tell("yield")
            return
        # To ask whether there are GPUs is left to the program: it may warn, and forked children could not use them then.
        if torch.cuda.is_initialized():
            warn()
        elif not waits:
            waits.append(True)
            torch.cuda._lazy_call(guarded(warn))

    def warn():
        if said:
            return
        said.append(True)
        say("the program starts torch.profiler, which gets no GPU events while tilescope record runs;"
            " --yield-to-torch leaves them to it")
        recorder.fact("profiler", "the program started torch.profiler, which may lack GPU events")

    module._prepare_profiler = recorder.around(module._prepare_profiler, guarded(stop))


def _watch_proton(recorder, module):
    """Leaves the GPU to Proton, Triton's profiler, when the program starts it on CUPTI: it would raise an exception otherwise,
    because CUPTI accepts one subscriber."""

    def begin(arguments):
        # The name of the session, and then in an order that depends on the version: its contexts, data, backend and mode.
        if any(isinstance(word, str) and word.startswith("cupti") for word in arguments[1:]):
            recorder.tell("yield to proton")

    module.libproton.start = recorder.around(module.libproton.start, guarded(begin))


def _record_torch(recorder, torch, wanted):
    if hasattr(recorder, "torch"):
        return  # it was executed again
    recorder.torch = torch
    if torch.__version__.startswith(("0.", "1.")):
        recorder.fact("modules", "steps, modules and memory of PyTorch %s are not recorded; they need 2.0 or later" % torch.__version__)
        return
    dynamo = getattr(torch._C, "_dynamo", None)
    if hasattr(getattr(dynamo, "eval_frame", None), "set_eval_frame"):
        recorder.hide_calls(dynamo.eval_frame.set_eval_frame)
    recorder.fact("torch", torch.__version__)
    if wanted != ["steps"]:
        recorder.tell("torch")  # lets work of the backward pass find its module
    plugin = memory = ops = None
    if "memory" in wanted or "ops" in wanted:
        try:
            plugin = _Plugin(recorder, torch)
        except Exception:
            plugin = None
    if "memory" in wanted:
        try:
            memory = _Memory(recorder, torch, plugin, "stacks" in wanted)
        except Exception:
            memory = None
    if "ops" in wanted:
        try:
            ops = _Ops(recorder, torch, plugin)
        except Exception:
            ops = None
    guarded(_watch_profiler)(recorder, torch, ops)
    for name in _OF_PROCESSES:
        if name in sys.modules:
            guarded(_watch_processes)(sys.modules[name])
    if "modules" in wanted:
        _watch_calls(recorder, torch, _Modules(recorder, torch, memory))
        torch.autograd.backward = recorder.phase(torch.autograd.backward, "backward")
    if "stacks" in wanted:
        _record_frames(recorder)


def _record_torch_or_say(module, wanted):
    this = recorder()
    try:
        _record_torch(this, module, wanted)
    except Exception as error:
        if raised_by_program(error):
            raise
        this.fact("modules", "a part of PyTorch is not recorded, because this version is unlike those that are known: %s" % error)


_OF_PROCESSES = ("multiprocessing.connection", "greenlet", "_asyncio")


def _watch_processes(module):
    """What is to be known of multiprocessing, greenlets and tasks in a process that uses PyTorch."""
    import types

    if not _started or not hasattr(_started[0], "torch"):
        return
    if module.__name__ == "multiprocessing.connection":
        # Who gets the results of a process may end it by a signal, as Pool does.
        send = module.Connection._send_bytes
        if isinstance(send, types.FunctionType):
            module.Connection._send_bytes = _started[0].around(send)
        return
    running = getattr(module, "getcurrent" if module.__name__ == "greenlet" else "current_task", None)
    if type(running) is types.BuiltinFunctionType:
        _started[0].tasks(running)


def _record_frames(recorder):
    import threading

    # Python has room for one profile function; that of the program stays.
    if sys.getprofile() is not None or threading._profile_hook is not None:
        say("--stacks records no calls: the program has set a profile function, as cProfile does")
        return
    # The first call in a new thread replaces itself.
    threading.setprofile(lambda *_: recorder.frames())
    recorder.frames()


def _record_optimizers(recorder, optimizer_module, with_ranges):
    import contextlib
    import functools

    torch = sys.modules["torch"]
    begin_step, end_step = recorder.begin_step, recorder.end_step

    # A step that torch.compile traces has the graph that it has without them: the compiler does not know the functions.
    # PyTorch is being imported, so that some of its modules are missing yet.
    if torch.__version__.startswith(("2.1.", "2.2.")):
        def begin(optimizer, arguments, named):
            if not torch._utils.is_compiling():
                return begin_step(optimizer, arguments, named)

        def end(optimizer, arguments, named):
            if not torch._utils.is_compiling():
                return end_step(optimizer, arguments, named)
    elif torch.__version__.startswith("2.0."):
        def begin(optimizer, arguments, named):
            return begin_step(optimizer, arguments, named)

        def end(optimizer, arguments, named):
            return end_step(optimizer, arguments, named)
    else:
        def begin(optimizer, arguments, named):
            if not torch.compiler.is_compiling():
                return begin_step(optimizer, arguments, named)

        def end(optimizer, arguments, named):
            if not torch.compiler.is_compiling():
                return end_step(optimizer, arguments, named)

    class Hook(functools.partial):
        """A hook that a pickle holds as a function which does nothing: dill writes the hooks of every optimizer into it, and whoever
        reads it may have no recorder."""

        def __reduce_ex__(self, protocol):
            return getattr, (contextlib.nullcontext(), "__exit__")

    # Python calls the library in place of these two; through partial() 3.11 does so as well.
    recorder.step_hooks(type(begin).__basicsize__, begin, end)
    if with_ranges:
        optimizer_module.register_optimizer_step_pre_hook(Hook(begin))
    optimizer_module.register_optimizer_step_post_hook(Hook(end))


def _record_collectives(recorder, module):
    # Not imported: the Python package loads this file without its folder in the search path.
    path = os.path.join(os.path.dirname(os.path.abspath(_file)), "_tilescope_collectives.py")
    collectives = {"__name__": "_tilescope_collectives", "__file__": path}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), collectives)
    collectives["watch"](recorder, sys.modules["torch"], module, raised_by_program)


def _record_loaders(recorder, loader_module):
    iterator = loader_module._BaseDataLoaderIter
    function = iterator.__next__
    iterator.__next__ = recorder.phase(function, "data")
    # Some programs call the older name.
    if getattr(iterator, "next", None) is function:
        iterator.next = iterator.__next__
    if option("host_samples") not in ("", "off"):
        guarded(_sample_workers)(recorder, loader_module._MultiProcessingDataLoaderIter)


def _sample_workers(recorder, iterator):
    """While a thread waits for data, its stack goes on with that of a process that loads data. Of those that are no forks
    of this process it is not known where their stacks are."""
    fetch = sys.modules["torch.utils.data._utils.fetch"]
    functions = (iterator._get_data, fetch._MapDatasetFetcher.fetch, fetch._IterableDatasetFetcher.fetch)
    codes = [id(function.__code__) for function in functions]

    def started(arguments, _):
        for worker in arguments[0]._workers:
            if getattr(worker._popen, "method", None) == "fork":
                recorder.loads(worker._popen.pid, id(arguments[0]), *codes)

    iterator.__init__ = recorder.around(iterator.__init__, None, guarded(started))


class _WatchedSpec(_Spec):
    """The specification of a module that is watched. The import system sets `_initializing` before and after it executes a
    module: no function of this file is active meanwhile, as tracebacks would show it."""

    def set(self, name, value):
        _Spec.__setattr__(self, name, value)
        if name == "_initializing":
            guarded(_Watch.begun if value else _Watch.ended)(self)


for _name in ("__name__", "__qualname__", "__module__"):
    setattr(_WatchedSpec, _name, getattr(_Spec, _name))


class _Watch:
    """Calls back each time that a module has been executed. A look-up without an import changes nothing."""

    def __init__(self, actions):
        self._actions = actions
        self._left = set(actions)  # modules whose execution was not seen
        self.find_spec = functions().hidden(self._find_watched)
        _WatchedSpec.__setattr__ = functions().hidden(_WatchedSpec.set)
        _Watch.only = self

    def _find_watched(self, name, path=None, target=None):
        try:
            if self._left:
                self._look_around()
            if name not in self._actions:
                return None
            spec = self._find(name, path, target)
            if spec is not None and hasattr(spec.loader, "exec_module"):
                self._watch(spec)
            return spec
        except Exception as error:
            if raised_by_program(error):
                raise
            return None

    def _find(self, name, path, target):
        """What the import system would find behind this finder."""
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1:]:
            if not hasattr(finder, "find_spec"):
                return None  # of an older kind, which only the import system asks
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _watch(self, spec):
        if type(spec) is _Spec:
            spec.__class__ = _WatchedSpec
        # Programs that execute a module themselves, LazyLoader and reload() call the loader without telling the
        # specification. Some loaders, such as a zip file's, are those of many modules.
        loader = spec.loader
        if getattr(loader, "name", None) == spec.name and "exec_module" not in getattr(loader, "__dict__", ("exec_module",)):
            executed = guarded(lambda arguments, _: self._executed(spec.name, *arguments))
            loader.exec_module = functions().around(loader.exec_module, None, executed)

    @staticmethod
    def begun(spec):
        # LazyLoader keeps the loader and calls it later.
        getattr(spec.loader, "__dict__", {}).pop("exec_module", None)

    @staticmethod
    def ended(spec):
        spec.__class__ = _Spec
        module = sys.modules.get(spec.name)
        if module is not None and type(module).__name__ != "_LazyModule":
            _Watch.only._executed(spec.name, module)

    def _executed(self, name, module):
        self._left.discard(name)
        guarded(self._actions[name])(module)

    def _look_around(self):
        """Finds what another importer has executed."""
        for name in list(self._left):
            module = sys.modules.get(name)
            spec = vars(module).get("__spec__") if type(module) is type(sys) else None
            if type(spec) is _Spec and not getattr(spec, "_initializing", False):
                self._executed(name, module)


class _ForkWarning:
    """Keeps Python 3.12 and later from warning of a fork with threads if the recorder's are the only other ones. Python counts
    the threads when it has forked, because libraries end theirs for a fork, and warns between these hooks: the filter, which
    counts like Python, is not seen by anything else."""

    def __init__(self):
        self.match = guarded(self._match)  # as a regular expression has
        self._filter = ("ignore", self, DeprecationWarning, None, 0)
        self._filters = None
        os.register_at_fork(before=guarded(self._before), after_in_parent=guarded(self._after),
                            after_in_child=guarded(self._after))

    def _match(self, text):
        if "is multi-threaded, use of " not in text:
            return False
        others = 0
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/comm" % task) as file:
                others += not file.read().startswith("tilescope")
        return others <= 1

    def _before(self):
        filters = sys.modules["warnings"].filters
        filters.insert(0, self._filter)
        self._filters = filters

    def _after(self):
        filters, self._filters = self._filters, None
        if filters is not None:
            filters.remove(self._filter)


_started = []
_at_end = []  # what is to be written before the recording ends


def recorder():
    """The recorder of this process; starts it. Raises where nothing is recorded."""
    if not _started:
        _started.append(Recorder())
    return _started[0]


def finish():
    """Ends the recording of this process."""
    for action in _at_end:
        guarded(action)()
    if _started:
        _started[0].tell("end")


def start():
    """Records PyTorch as soon as it is imported, or now if it has been."""
    if not os.environ.get("NVTX_INJECTION64_PATH"):
        return
    wanted = (option("torch") or "steps").split(",")
    actions = {"torch": lambda module: _record_torch_or_say(module, wanted)}
    for name in _OF_PROCESSES:
        actions[name] = _watch_processes
    actions["torch.optim.optimizer"] = lambda module: _record_optimizers(recorder(), module, "modules" in wanted)
    if "modules" in wanted:
        actions["torch.utils.data.dataloader"] = lambda module: _record_loaders(recorder(), module)
        actions["torch.distributed.distributed_c10d"] = lambda module: _record_collectives(recorder(), module)
    actions["triton.profiler.profile"] = lambda module: _watch_proton(recorder(), module)
    if option("host_samples") not in ("", "off"):
        for name in ("cupy", "jax", "numba.cuda", "pycuda", "tensorflow", "triton"):
            actions[name] = lambda module: recorder()
    watch = _Watch(actions)
    for name in actions:
        if name in sys.modules:
            watch._executed(name, sys.modules[name])
    sys.meta_path.insert(0, watch)
    if sys.version_info >= (3, 12):
        _ForkWarning()
