"""Small programs that print what a program can see of the process that it runs in."""

# Printed at the start or the end of a program: what must be the same in a bare and in a recorded run.
SEEN = r'''
import os, sys

OURS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "PYTHONPATH", "TILESCOPE_RECORD_FOLDER", "TILESCOPE_RECORD_OPTIONS")

def interpreter():
    print("flags", sys.flags, sys.warnoptions, sys._xoptions)
    print("path", sys.path, sys.argv, sys.orig_argv, sys.executable, sys.prefix)
    print("modules", sorted(name for name in sys.modules if name != "_tilescope_recorder"))
    print("finders", [str(finder) for finder in sys.meta_path if type(finder).__module__ != "_tilescope_recorder"])
    print("hooks", len(sys.path_hooks), sorted(path for path in sys.path_importer_cache))
    print("functions", sys.getprofile(), sys.gettrace(), sys.excepthook, sys.unraisablehook, sys.displayhook, sys.breakpointhook)
    print("limits", sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags())
    print("streams", [(s.fileno(), s.encoding, s.errors, s.line_buffering) for s in (sys.stdin, sys.stdout, sys.stderr)])

def process():
    print("environment", {name: value for name, value in os.environ.items() if name not in OURS})
    print("python path", [p for p in os.environ.get("PYTHONPATH", "").split(":") if p and ".recording-" not in p])
    print("folder", os.getcwd(), "%o" % os.umask(0o22), os.umask(0o22) == 0o22)
    print("ids", os.getuid(), os.geteuid(), os.getgid(), os.getgroups(), os.nice(0))
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    # The C library handles signals 32 and 33 itself once there are threads, as the recorder's.
    status["SigCgt"] = "%x" % (int(status["SigCgt"], 16) & ~(3 << 31))
    for key in ("SigBlk", "SigIgn", "SigCgt", "ShdPnd", "SigPnd", "CapEff", "NoNewPrivs", "Seccomp", "Cpus_allowed_list"):
        print(key, status.get(key, "").strip())
    import resource
    print("limits", [(name, resource.getrlimit(getattr(resource, name))) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")])
    print("name", open("/proc/self/comm").read().strip(), open("/proc/self/cmdline").read().split("\0"))
    print("descriptors", descriptors())

def descriptors():
    found = {}
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
        try:
            found[fd] = os.readlink("/proc/self/fd/%d" % fd).split(":")[0]
        except OSError:
            pass
    return found

def signals():
    import signal
    print("signals", {number: str(signal.getsignal(number)) for number in range(1, 32)}, signal.pthread_sigmask(signal.SIG_BLOCK, []))
    print("timers", signal.getitimer(signal.ITIMER_REAL), signal.getitimer(signal.ITIMER_PROF))

def threads():
    import threading
    print("threads", threading.active_count(), [thread.name for thread in threading.enumerate()])

def rest():
    import atexit, faulthandler, gc, locale, warnings
    print("rest", atexit._ncallbacks(), faulthandler.is_enabled(), gc.isenabled(), gc.get_threshold(), gc.callbacks,
          locale.setlocale(locale.LC_ALL), warnings.filters, warnings.showwarning.__module__)
'''

# Each runs in a process of its own.
ALONE = {
    "interpreter": "import seen; seen.interpreter()",
    "process": "import seen; seen.process()",
    "signals": "import seen; seen.signals(); seen.threads(); seen.rest()",
    "isolated": "#! -I\nimport sys, os; print(sys.flags, sys.path)",
    "optimised": "#! -OO\nimport sys; print(sys.flags, __doc__); assert 0",
    "no_bytecode": "#! -B\nimport sys, own; print(sys.flags, sys.dont_write_bytecode)",
    "bytecode": "import sys, own; print(sys.dont_write_bytecode, own.__cached__)",
    "warnings_are_errors": "#! -W error\nimport sys, warnings; print(sys.warnoptions, warnings.filters); warnings.warn('x')",
    "developer": "#! -X dev\nimport seen; seen.interpreter(); seen.rest(); open('/dev/null')",
    "import_time": "#! -X importtime\nimport sys; sys.stderr = None",
    "verbose_error": "import nothing_of_this_name",
    "error": "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(3)",
    "error_in_thread": "import threading; t = threading.Thread(target=lambda: 1 / 0, name='t'); t.start(); t.join()",
    "syntax_error": "def f(:\n    pass",
    "exit_7": "import sys; sys.exit(7)",
    "exit_text": "import sys; sys.exit('a text')",
    "exit_256": "import sys; sys.exit(256 + 9)",
    "exit_now": "import os; print('x', flush=True); os._exit(3)",
    "killed": "import os; print('x', flush=True); os.kill(os.getpid(), 9)",
    "terminated": "import os, time; print('x', flush=True); os.kill(os.getpid(), 15); time.sleep(5)",
    "hung_up": "import os, time; os.kill(os.getpid(), 1); time.sleep(5)",
    "interrupted": "import os, time; os.kill(os.getpid(), 2); time.sleep(5)",
    "aborted": "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()",
    "user_signal": "import os, time; os.kill(os.getpid(), 10); time.sleep(5)",
    "broken_pipe": "import signal, os; signal.signal(signal.SIGPIPE, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGPIPE)",
    "handler": "import signal, os\nsignal.signal(15, lambda *a: print('handled', a[0]))\nos.kill(os.getpid(), 15); print('went on')",
    "timer": "import signal, time\nhits = []\nsignal.signal(signal.SIGALRM, lambda *a: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, .01, .01)\ntime.sleep(.2); signal.setitimer(signal.ITIMER_REAL, 0); print(len(hits) > 3)",
    "at_exit": "import atexit; atexit.register(print, 'first'); atexit.register(lambda: 1 / 0)",
    "input": "import sys; print(repr(sys.stdin.read()), sys.stdin.isatty())",
    "identity": "import os, inspect, pickle, types, posix\nprint(os._exit is posix._exit, os._exit, inspect.signature(os._exit), pickle.dumps(os._exit), type(os.execv), os.execv.__doc__[:20])",
    "import_hooks": "import sys, importlib.util, importlib\nprint(importlib.util.find_spec('nothing'), importlib.util.find_spec('json'))\nimport json; importlib.reload(json); print(json.__spec__, json.__loader__, type(json.__spec__))",
    "own_finder": "import sys\nclass F:\n    @staticmethod\n    def find_spec(name, path=None, target=None): print('asked', name)\nsys.meta_path.append(F)\ntry:\n    import nothing_here\nexcept ImportError as e: print(e, e.__traceback__.tb_next)",
    "blocked_import": "import sys\nsys.modules['torch'] = None\ntry:\n    import torch\nexcept ImportError as e: print(repr(e))",
    "torch_is_another": "import sys, types\nsys.path.insert(0, 'fake')\nimport torch, torch.optim.optimizer; print(torch.x, torch.optim.optimizer.y, torch.__spec__.name, type(torch.__spec__))",
    "failing_import": "import sys\nsys.path.insert(0, 'failing')\nimport torch",
    "stack": "import inspect\ndef f(): return [frame.function for frame in inspect.stack()]\nprint(f())",
    "child": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'import seen; seen.interpreter(); seen.process()'], capture_output=True, text=True).stdout)",
    "child_with_own_environment": "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'import os; print(dict(os.environ))'], env={'PATH': '/bin', 'LC_ALL': 'C'}, capture_output=True, text=True).stdout)",
    "exec": "import os, sys; sys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'print(1); raise SystemExit(4)'])",
    "exec_fails": "import os\ntry: os.execv('/nothing', ['x'])\nexcept OSError as e: print(e)\ntry: os._exit('x')\nexcept TypeError as e: print(e)\ntry: os.execve('/nothing', ['x'], {}, 1)\nexcept TypeError as e: print(e)",
    "fork": "import os, sys\nif os.fork() == 0:\n    print('child', len(sys.modules) > 0, flush=True); os._exit(5)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
    "spawn": "import multiprocessing as mp, seen\nif __name__ == '__main__':\n    p = mp.get_context('spawn').Process(target=seen.threads); p.start(); p.join(); print(p.exitcode)",
    "forkserver": "import multiprocessing as mp, seen\nif __name__ == '__main__':\n    p = mp.get_context('forkserver').Process(target=seen.rest); p.start(); p.join(); print(p.exitcode)",
    "pool": "import concurrent.futures as cf\nif __name__ == '__main__':\n    with cf.ProcessPoolExecutor(2) as pool: print(sorted(pool.map(abs, range(-3, 3))))",
    "daemon": "import os, seen\nif os.fork() == 0:\n    os.setsid(); seen.process(); os._exit(0)\nos.wait()",
    "files": "import os, tempfile\nopen('a', 'w').write('x'); os.mkdir('d'); os.chmod('a', 0o600)\nprint(sorted(os.listdir('.')), tempfile.gettempdir(), sorted(os.listdir(tempfile.gettempdir())))",
    "close_all": "import os\nos.closerange(3, 200); fs = [open('f%d' % i, 'wb') for i in range(8)]\nfor f in fs: f.write(b'x' * 100); f.close()\nprint([f.name for f in fs])",
    "profiled_import": "import cProfile, os, pstats\np = cProfile.Profile(); p.enable()\nimport colorsys, wave\np.disable()\n"
                       # The import system takes its lock for each finder.
                       "print(sorted((os.path.basename(f), n.split(' at ')[0], v[:2]) for (f, l, n), v in pstats.Stats(p).stats.items() if not n.endswith(('__enter__', '__exit__', '_lock>'))))",
    "traced_fork": "import os, sys, warnings\nnames = []\ndef t(f, e, a): names.append(os.path.basename(f.f_code.co_filename)); return t\nsys.settrace(t)\nif os.fork() == 0: os._exit(3)\nos.wait(); warnings.warn('x'); sys.settrace(None); print(sorted(set(names)))",
    "subinterpreter": "import importlib, sys\nname = '_xxsubinterpreters' if sys.version_info < (3, 13) else '_interpreters'\n"
                      "try: i = importlib.import_module(name)\nexcept ImportError: sys.exit()\n"
                      "text = \"import atexit, sys; print(sorted(m for m in sys.modules if m != '_tilescope_recorder'), atexit._ncallbacks(), \"\\\n"
                      "    \"[str(f) for f in sys.meta_path], flush=True)\"\nfor _ in range(2):\n    n = i.create(); print(i.run_string(n, text), flush=True); i.destroy(n)",
    "own_sitecustomize": "#PYTHONPATH=own_site\nimport sys, sitecustomize; print(sitecustomize.__file__, sitecustomize.__spec__.name, sys.path)",
    "raising_sitecustomize": "#PYTHONPATH=bad_site\nprint('goes on')",
}

# The files beside them.
FILES = {
    "own.py": "",
    "fake/torch/__init__.py": "x = 1\n__version__ = '0'\n",
    "fake/torch/optim/__init__.py": "",
    "fake/torch/optim/optimizer.py": "y = 2\n",
    "failing/torch.py": "def f():\n    raise ValueError('no torch')\nf()\n",
    "own_site/sitecustomize.py": "print('own sitecustomize', __name__, __file__)\n",
    "bad_site/sitecustomize.py": "raise ValueError('bad')\n",
}

# Steps of a model, for those that watch them.
TRAIN = r'''
import collections, cProfile, os, pstats, sys, torch
def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=.1)
    for _ in range(steps):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
'''

# With PyTorch, which takes seconds to import: many run in one process.
TORCH = {
    "identity": "import inspect, pickle, types, torch\nfrom torch.utils.data.dataloader import _BaseDataLoaderIter as It\n"
                "b = torch.autograd.backward\nprint(b.__name__, b.__qualname__, b.__module__, b.__doc__[:40], inspect.signature(b), inspect.isfunction(b), isinstance(b, types.FunctionType), callable(b))\n"
                "print(pickle.loads(pickle.dumps(b)) is b, inspect.getsourcefile(b), inspect.getsource(b)[:20], b.__defaults__, b.__code__.co_name)\n"
                "print(inspect.signature(It.__next__), It.__next__.__qualname__, torch.nn.Module.__call__, torch.nn.Module._call_impl.__code__.co_name)\n"
                "import copy, weakref; print(copy.deepcopy(b) is b, weakref.ref(b)() is b, hash(b) == hash(b), str(b).split(' at ')[0])",
    "bound": "import torch\nfrom torch.utils.data import DataLoader\nit = iter(DataLoader(range(4)))\nprint(it.__next__.__self__ is it, next(it), it.__next__(), type(it).__next__(it), list(it))\n"
             "try: next(it)\nexcept StopIteration as e: print(repr(e))",
    "stack": "import inspect, torch\ndef depth(*_): print([f.function for f in inspect.stack()])\n"
             "class M(torch.nn.Module):\n    def forward(self, x): depth(); return x * 2\n"
             "a = torch.ones(1, requires_grad=True); a.register_hook(depth); M()(a).sum().backward()",
    "loader_stack": "import inspect, torch\nclass D(torch.utils.data.Dataset):\n    def __len__(s): return 2\n    def __getitem__(s, i): print([f.function for f in inspect.stack()]); return i\n"
                    "for _ in torch.utils.data.DataLoader(D()): pass",
    "closure_stack": "import inspect, torch\np = torch.nn.Parameter(torch.ones(2)); o = torch.optim.LBFGS([p], max_iter=2)\n"
                     "def c():\n    print([f.function for f in inspect.stack()]); o.zero_grad(); l = (p * p).sum(); l.backward(); return l\nprint(float(o.step(c)))",
    "loader_error": "import torch\nclass D(torch.utils.data.Dataset):\n    def __len__(s): return 8\n    def __getitem__(s, i):\n        if i == 5: raise KeyError('bad sample 5')\n        return torch.zeros(2)\n"
                    "for b in torch.utils.data.DataLoader(D(), batch_size=2): pass",
    "worker_error": "import torch\nclass D(torch.utils.data.Dataset):\n    def __len__(s): return 8\n    def __getitem__(s, i): return 1 // (5 - i)\n"
                    "for b in torch.utils.data.DataLoader(D(), batch_size=2, num_workers=1): pass",
    "backward_error": "import torch\na = torch.ones(2, requires_grad=True); (a * 2).backward()",
    "twice": "import torch\na = torch.ones(2, requires_grad=True); b = a.exp().sum(); b.backward(); b.backward()",
    "hook_error": "import torch\na = torch.ones(2, requires_grad=True); a.register_hook(lambda g: 1 / 0); (a * 2).sum().backward()",
    "module_error": "import torch\nclass M(torch.nn.Module):\n    def forward(self, x): return self.missing(x)\ntorch.nn.Sequential(M())(torch.ones(1))",
    "shape_error": "import torch\ntorch.nn.Linear(3, 4)(torch.ones(2, 5))",
    "optimizer_error": "import torch\np = torch.nn.Parameter(torch.ones(2))\nclass O(torch.optim.SGD):\n    def step(self, closure=None): raise RuntimeError('step')\nO([p], lr=.1).step()",
    "closure_error": "import torch\np = torch.nn.Parameter(torch.ones(2)); o = torch.optim.SGD([p], lr=.1)\ndef c(): raise KeyError('closure')\no.step(c)",
    "closure": "import torch\np = torch.nn.Parameter(torch.ones(2))\n"
               "class O(torch.optim.SGD):\n    def step(self, closure=None):\n        import inspect\n        print(inspect.signature(closure), closure.__name__, closure.__doc__, inspect.isfunction(closure), closure.tag, repr(closure).split(' at ')[0])\n        return super().step(torch.enable_grad()(closure))\n"
               "o = O([p], lr=.1)\ndef c():\n    'doc'\n    return p.sum()\nc.tag = 3\nprint(o.step(c), o.step(closure=c))",
    "hooks": "import torch\np = torch.nn.Parameter(torch.ones(2)); o = torch.optim.SGD([p], lr=.1)\n"
             "o.register_step_pre_hook(lambda o, a, k: print('before', len(a), k)); o.register_step_post_hook(lambda o, a, k: print('after', len(a), k))\np.sum().backward(); o.step()",
    "function_mode": "import torch\nfrom torch.overrides import TorchFunctionMode\nclass Log(TorchFunctionMode):\n    def __torch_function__(self, f, types, args=(), kw=None):\n        print(getattr(f, '__qualname__', f)); return f(*args, **(kw or {}))\n"
                     "m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())\nwith Log(): m(torch.ones(2, 4)).sum().backward()",
    "dispatch_mode": "import torch\nfrom torch.utils._python_dispatch import TorchDispatchMode\nclass Log(TorchDispatchMode):\n    def __torch_dispatch__(self, f, types, args=(), kw=None):\n        print(f); return f(*args, **(kw or {}))\n"
                     "m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())\nwith Log(): m(torch.ones(2, 4)).sum().backward()",
    "fake": "import torch, warnings\nwarnings.simplefilter('always')\nfrom torch._subclasses.fake_tensor import FakeTensorMode\nwith FakeTensorMode(): m = torch.nn.Sequential(torch.nn.Linear(4, 4)); print(m(torch.ones(2, 4)).shape)",
    "subclass": "import torch\nclass T(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, types, args=(), kw=None): print(getattr(f, '__name__', f)); return super().__torch_function__(f, types, args, kw)\n"
                "m = torch.nn.Linear(2, 2); m.weight = torch.nn.Parameter(torch.ones(2, 2).as_subclass(T)); m(torch.ones(1, 2).as_subclass(T))",
    "meta": "import torch\nwith torch.device('meta'): m = torch.nn.Linear(4, 4); print(m(torch.ones(2, 4)).device)",
    "flops": "import torch\nfrom torch.utils.flop_counter import FlopCounterMode\nm = torch.nn.Linear(8, 8)\nwith FlopCounterMode(display=False) as f: m(torch.ones(2, 8)).sum().backward()\nprint(f.get_total_flops())",
    "anomaly": "import torch\nwith torch.autograd.detect_anomaly():\n    a = torch.ones(2, requires_grad=True); b = a.exp(); b.mul_(3); b.sum().backward()",
    "warnings": "import torch, warnings\nwarnings.simplefilter('always')\nclass D(torch.utils.data.IterableDataset):\n    def __iter__(s): return iter(range(4))\n    def __len__(s): return 2\n"
                "for _ in torch.utils.data.DataLoader(D()): pass\nm = torch.nn.Linear(2, 2); m(torch.ones(1, 2)).sum().backward(create_graph=True)",
    "fx": "import torch\nm = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()); print(torch.fx.symbolic_trace(m).code)",
    "export": "import torch\nm = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()); print(torch.export.export(m, (torch.ones(1, 2),)).graph_module.code)",
    "jit": "import torch\nm = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()); print(torch.jit.trace(m, torch.ones(1, 2)).code, torch.jit.script(m)(torch.ones(1, 2)).shape)",
    "compile": "import torch\nm = torch.compile(torch.nn.Linear(2, 2), backend='eager', fullgraph=True); o = torch.optim.SGD(m.parameters(), lr=.1)\n"
               "m(torch.ones(1, 2)).sum().backward(); torch.compile(o.step, backend='eager')(); print(torch._dynamo.utils.counters['graph_break'])",
    "functional": "import torch\nm = torch.nn.Linear(2, 2); p = dict(m.named_parameters())\nprint(torch.func.grad(lambda p, x: torch.func.functional_call(m, p, (x,)).sum())(p, torch.ones(1, 2))['bias'])",
    "checkpoint": "import torch\nfrom torch.utils.checkpoint import checkpoint\nm = torch.nn.Linear(2, 2); x = torch.ones(1, 2, requires_grad=True); checkpoint(m, x, use_reentrant=False).sum().backward(); print(x.grad is not None)",
    "deep_copy": "import copy, io, torch\nm = torch.nn.Sequential(torch.nn.Linear(2, 2)); m(torch.ones(1, 2)); n = copy.deepcopy(m); b = io.BytesIO(); torch.save(m, b); print(sorted(vars(n)), len(b.getvalue()))\n"
                 "print(vars(m[0]).keys() == vars(torch.nn.Linear(2, 2)).keys())",
    "profiler": "import torch\nwith torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p: torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()\nprint(sorted({e.key for e in p.key_averages()}))",
    "profile_function": "import sys, torch\nm = torch.nn.Linear(2, 2); m(torch.ones(1, 2)); names = []\nsys.setprofile(lambda f, e, a: names.append((e, f.f_code.co_name)))\nm(torch.ones(1, 2)).sum().backward()\nsys.setprofile(None); print(names)",
    "trace_function": "import sys, torch\nm = torch.nn.Linear(2, 2); names = []\ndef t(f, e, a): names.append(f.f_code.co_name); return None\nm(torch.ones(1, 2)); sys.settrace(t)\nm(torch.ones(1, 2)).sum().backward()\nsys.settrace(None); print(names)",
    "profiled": TRAIN + "p = cProfile.Profile(); p.enable(); train(torch.nn.Linear(2, 2), 3); list(torch.utils.data.DataLoader(range(4), batch_size=2)); p.disable()\n"
                "for (f, l, n), v in sorted(pstats.Stats(p).stats.items(), key=str): print(os.path.basename(f), n.split(' at ')[0], v[:2])",
    "profiled_closure": TRAIN + "m = torch.nn.Linear(2, 2); o = torch.optim.LBFGS(m.parameters(), max_iter=2)\n"
                        "def c(): o.zero_grad(); l = m(torch.ones(1, 2)).sum(); l.backward(); return l\n"
                        "p = cProfile.Profile(); p.enable(); o.step(c); p.disable()\n"
                        "print(sorted((os.path.basename(f), n) for f, l, n in pstats.Stats(p).stats))",
    "traced": TRAIN + "seen = collections.Counter()\ndef t(f, e, a): seen[os.path.basename(f.f_code.co_filename), f.f_code.co_name, e] += 1; return t\n"
              "sys.settrace(t); train(torch.nn.Linear(2, 2), 3); sys.settrace(None)\n"
              # PyTorch's optimizer has lines for each hook.
              "for place, n in sorted(seen.items()):\n    if place[0] != 'optimizer.py' or place[2] != 'line': print(place, n)",
    "monitored": TRAIN + "if hasattr(sys, 'monitoring'):\n    m = sys.monitoring; names = []; m.use_tool_id(2, 'x')\n    for e in (m.events.PY_START, m.events.PY_RETURN): m.register_callback(2, e, lambda c, *_: names.append(c.co_filename + c.co_name))\n"
                 "    m.set_events(2, m.events.PY_START | m.events.PY_RETURN); train(torch.nn.Linear(2, 2), 3); m.set_events(2, 0); m.free_tool_id(2); print(names)",
    "modules_of_pytorch": "import sys, torch\nbefore = set(sys.modules)\n" + "m = torch.nn.Linear(2, 2); o = torch.optim.SGD(m.parameters(), lr=.1); m(torch.ones(1, 2)).sum().backward(); o.step(); print(sorted(set(sys.modules) - before))",
    "seen": "import seen, torch, torch.distributed; seen.interpreter(); seen.signals(); seen.threads(); seen.rest()",
    "process": "import seen, torch\nm = torch.nn.Linear(2, 2); m(torch.ones(1, 2)).sum().backward(); torch.optim.SGD(m.parameters(), lr=.1).step(); seen.process()",
    "group": "import os, tempfile, torch, torch.distributed as d\nos.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='0')\nd.init_process_group('gloo', init_method='file://' + tempfile.mktemp(), rank=0, world_size=1)\n"
             "t = torch.ones(2); d.all_reduce(t); print(t)\ntry: d.all_reduce(torch.ones(2, device='meta'))\nexcept Exception as e:\n    import traceback; print(type(e).__name__, [f.name for f in traceback.extract_tb(e.__traceback__)])\nd.destroy_process_group()",
    "garbage": "import gc, torch\nm = torch.nn.Linear(2, 2); m(torch.ones(1, 2)); i = id(m); import weakref; r = weakref.ref(m); del m; print(r() is None, gc.garbage)",
    "closure_garbage": "import gc, weakref, torch\np = torch.nn.Parameter(torch.ones(2)); o = torch.optim.SGD([p], lr=.1)\ndef f():\n    def c(): return p.sum()\n    o.step(c); return weakref.ref(c)\nprint(f()() is None)",
}
