"""Programs that use the operating system in unusual ways while they train, for tests/stress/programs: each prints what it sees."""

# Beside them.
FILES = {
    "t.py": '''
import torch
from torch import nn


def train(n, width=4):
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(width, width), nn.ReLU()); o = torch.optim.SGD(m.parameters(), lr=.1)
    for _ in range(n):
        o.zero_grad(); m(torch.ones(2, width)).sum().backward(); o.step()
    return float(sum(p.sum() for p in m.parameters()))
''',
    "sec.py": '''import ctypes, struct, os, errno, sys
def seccomp(action, numbers):
    """Refuses system calls in all threads."""
    ins = [(0x20, 0, 0, 0)]
    n = len(numbers)
    for k, x in enumerate(numbers): ins.append((0x15, n - k, 0, x))
    ins += [(6, 0, 0, 0x7fff0000), (6, 0, 0, action)]
    b = b''.join(struct.pack('HBBI', *i) for i in ins); buf = ctypes.create_string_buffer(b); prog = struct.pack('HxxxxxxQ', len(ins), ctypes.addressof(buf)); pb = ctypes.create_string_buffer(prog)
    l = ctypes.CDLL(None, use_errno=True); l.prctl(38, 1, 0, 0, 0); r = l.syscall(317, 1, 1, pb)
    print('seccomp', r, flush=True)
EPERM = 0x50000 | 1; ENOSYS = 0x50000 | 38
''',
}

PROGRAMS = {
    "sigwait_all": '''import signal, os, threading, time, t
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); print(t.train(3))
for s in (1, 2, 3, 10, 12, 13, 14, 15, 17, 28):
    os.kill(os.getpid(), s); print(signal.sigwait([s]), signal.sigpending())
th = threading.Thread(target=lambda: print('w', signal.sigtimedwait([10], 5).si_signo)); th.start(); time.sleep(.1); os.kill(os.getpid(), 10); th.join()
print(signal.sigtimedwait([12], .05))
''',
    "ctypes_callback": '''import ctypes, threading, t
C = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int)); a = (ctypes.c_int * 9)(*[5, 3, 8, 1, 9, 2, 7, 4, 6])
def f(x, y):
    m(torch.ones(1, 2)); return x[0] - y[0]
import torch; m = torch.nn.Linear(2, 2)
ctypes.CDLL(None).qsort(a, 9, 4, C(f)); print(list(a))
T = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p); h = ctypes.c_ulong(); res = []
@T
def run(_): res.append(t.train(3)); return None
l = ctypes.CDLL(None); l.pthread_create(ctypes.byref(h), None, run, None)
l.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]; l.pthread_join(h, None); print(res)
def bad(x, y): raise ValueError('in callback')
ctypes.CDLL(None).qsort(a, 2, 4, C(bad))
''',
    "faulthandler_later": '''import faulthandler, time, signal, os, t; print(t.train(2), flush=True); faulthandler.dump_traceback_later(.1); time.sleep(.3); faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False); os.kill(os.getpid(), 10); faulthandler.dump_traceback(all_threads=True)
''',
    "faulthandler_exit": '''#! -X faulthandler
import faulthandler, time, t; t.train(2); faulthandler.dump_traceback_later(.2, exit=True); time.sleep(5)
''',
    "limit_files": '''import resource, os, t
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)); print(t.train(3)); fs = []
try:
    while True: fs.append(open('/dev/null'))
except OSError as e: print(e, len(fs))
print(t.train(1))
''',
    "limit_cpu": '''import resource, signal, t
signal.signal(signal.SIGXCPU, lambda *a: (print('xcpu', flush=True), __import__('os')._exit(9)))
t.train(2); u = int(sum(resource.getrusage(0)[:2])); resource.setrlimit(resource.RLIMIT_CPU, (u + 1, u + 5))
while True: pass
''',
    "limit_as": '''import resource, os, t
t.train(2); v = int(open('/proc/self/statm').read().split()[0]) * 4096; resource.setrlimit(resource.RLIMIT_AS, (v + (64 << 20), -1))
try: b = bytearray(200 << 20)
except MemoryError as e: print('memory', e)
print(t.train(3))
''',
    "atexit_order": '''import atexit, threading, weakref, sys, multiprocessing.util as u, t
atexit.register(print, 'first registered'); t.train(2); atexit.register(print, 'last registered'); threading._register_atexit(print, 'threading')
class X: pass
x = X(); weakref.finalize(x, print, 'finalize'); u.Finalize(None, print, ('mp finalize',), exitpriority=5)
class Y:
    def __del__(self): print('del', t is None, sys is None)
y = Y(); atexit.register(lambda: print(t.train(2)))
th = threading.Thread(target=lambda: (__import__('time').sleep(.2), print('thread', t.train(1)))); th.start(); print('main ends')
''',
    "excepthooks": '''import sys, threading, t
sys.excepthook = lambda *a: print('hook', a[0].__name__, a[2].tb_frame.f_code.co_name, a[2].tb_next.tb_frame.f_code.co_name if a[2].tb_next else None)
threading.excepthook = lambda a: print('thread hook', a.exc_type.__name__)
sys.unraisablehook = lambda a: print('unraisable', a.exc_type.__name__, a.err_msg)
class D:
    def __del__(self): 1 / 0
D(); th = threading.Thread(target=lambda: t.torch.nn.Linear(2, 2)(t.torch.ones(9))); th.start(); th.join(); t.train(1); m = t.torch.nn.Linear(2, 2); m(t.torch.ones(7))
''',
    "exit_in_hook": '''import sys, torch
a = torch.ones(2, requires_grad=True); a.register_hook(lambda g: sys.exit(8)); m = torch.nn.Linear(2, 2); m(a).sum().backward()
''',
    "keyboard_in_loader": '''import os, signal, torch, time
class D(torch.utils.data.Dataset):
    def __len__(s): return 8
    def __getitem__(s, i):
        if i == 5: os.kill(os.getpid(), 2); time.sleep(1)
        return i
for _ in torch.utils.data.DataLoader(D(), batch_size=2): pass
''',
    "close_std": '''import os, sys, t
print(t.train(2)); sys.stdout.flush(); os.close(2); os.close(1); os.close(0); f = open('a'+'.txt', 'w'); f.write('zero %d' % f.fileno()); g = open('b.txt', 'w'); g.write('one %d' % g.fileno()); t.train(2); f.close(); g.close(); os._exit(0)
''',
    "double_fork": '''import os, sys, time, t
r, w = os.pipe()
if os.fork() == 0:
    os.setsid(); parent = os.getpid()
    if os.fork() == 0:
        os.chdir('/'); os.umask(0)
        for fd in range(0, 256):
            if fd != w:
                try: os.close(fd)
                except OSError: pass
        os.open('/dev/null', os.O_RDWR); os.dup(0); os.dup(0)
        while os.getppid() == parent: time.sleep(.01)
        os.write(w, ('%s child of %d' % (t.train(4), os.getppid())).encode()); os._exit(0)
    os._exit(0)
os.wait(); os.close(w); print(os.read(r, 100))
''',
    "prctl_all": '''import ctypes, os, t
l = ctypes.CDLL(None, use_errno=True)
t.train(1)
print(l.prctl(15, b'my-trainer', 0, 0, 0), open('/proc/self/comm').read(), l.prctl(38, 1, 0, 0, 0), l.prctl(1, 9, 0, 0, 0), l.prctl(4, 0, 0, 0, 0), l.prctl(3, 0, 0, 0, 0), l.prctl(36, 1, 0, 0, 0))
print(t.train(3))
l.prctl(15, b'again', 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0: print(t.train(2), flush=True); os._exit(0)
    os._exit(0)
os.wait(); print(os.wait()[1])
''',
    "undumpable_first": '''import ctypes, os
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
import t; print(t.train(3), os.access('/proc/self/environ', os.R_OK))
''',
    "seccomp_early": '''from sec import *
seccomp(ENOSYS, [436, 272, 435, 434, 438, 41, 310, 311])
import t; print(t.train(3))
''',
    "seccomp_late": '''from sec import *
import t; print(t.train(2))
seccomp(EPERM, [436, 272, 435, 434, 41, 257, 2, 77, 285, 9, 310, 311, 319])
print(sum(range(9)))
m = t.torch.nn.Linear(2, 2)
for _ in range(200): m(t.torch.ones(1, 2)).sum().backward()
print('end')
''',
    # Each call alone, in a child whose recorder has started or has not. brk is not among them: glibc takes its refusal
    # for success, and the program crashes as soon as its heap has to grow.
    "seccomp_each": '''from sec import *
import os, sys, t
print(t.train(2), flush=True)
calls = [1, 2, 3, 9, 10, 11, 13, 14, 16, 17, 18, 20, 24, 25, 28, 32, 33, 35, 39, 41, 49, 50, 56, 63, 72, 77, 87, 88, 89, 97, 99, 102, 131, 137, 157,
         186, 204, 218, 228, 230, 257, 262, 263, 266, 267, 271, 272, 273, 285, 288, 290, 302, 310, 318, 319, 332, 334, 434, 435, 436, 439]
def child(call, action, trains):
    try:
        if trains: t.train(2)
        os.dup2(os.open('/dev/null', os.O_WRONLY), 1); seccomp(action, [call]); t.train(3); m = t.torch.nn.Linear(2, 2)
        for _ in range(300): m(t.torch.ones(1, 2)).sum().backward()
        os._exit(0)
    except BaseException: os._exit(3)
for call in calls:
    for action in (EPERM, ENOSYS):
        for trains in (False, True):
            if os.fork() == 0: child(call, action, trains)
            print(call, action & 63, trains, os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
''',
    "chroot_child": '''import os, t
t.train(1)
if os.fork() == 0:
    os.mkdir('root'); os.chroot('root'); os.chdir('/'); print(t.train(3), os.listdir('/'), flush=True); os._exit(0)
print(os.wait()[1])
''',
    "setuid_child": '''import os, t
t.train(1)
if os.fork() == 0:
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); print(t.train(3), os.getresuid(), flush=True); os._exit(0)
print(os.wait()[1])
''',
    "unshare_user": '''import os, ctypes, t
l = ctypes.CDLL(None, use_errno=True)
if os.fork() == 0:
    r = l.unshare(0x10000000 | 0x00020000); print(r, os.getuid(), t.train(3), flush=True); os._exit(0)
print(os.wait()[1])
''',
    "pid_namespace": '''import os, ctypes, t
l = ctypes.CDLL(None, use_errno=True); print(l.unshare(0x20000000))
if os.fork() == 0: print(os.getpid(), t.train(3), flush=True); os._exit(0)
print(os.wait()[1], t.train(2))
''',
    "closefrom_loop": '''import os, threading, t
stop = []
def closer():
    while not stop:
        os.closerange(50, 400)
th = threading.Thread(target=closer); th.start(); r = [t.train(20) for _ in range(5)]; stop.append(1); th.join(); print(len(set(r)))
''',
    "dup2_high": '''import os, resource, t
t.train(2); h = resource.getrlimit(resource.RLIMIT_NOFILE)[0]; f = open('o.txt', 'w')
for n in range(3, 200):
    if n != f.fileno(): os.dup2(f.fileno(), n)
for n in range(3, 200): os.write(n, b'%d\\n' % n)
os.closerange(3, 200); print(open('o.txt').read().count('\\n'), t.train(2))
''',
    "popen_open_fds": '''import subprocess, sys, os, t
t.train(2); r, w = os.pipe(); os.set_inheritable(w, True)
c = 'import os; print(sorted(int(x) for x in os.listdir("/proc/self/fd")))'
for kw in (dict(close_fds=False), dict(pass_fds=(w,)), dict(close_fds=True), dict(preexec_fn=os.setsid), dict(start_new_session=True), dict(umask=0o77), dict(process_group=0) if sys.version_info > (3, 11) else {}):
    print(subprocess.run([sys.executable, '-S', '-c', c], stdout=subprocess.PIPE, text=True, **kw).stdout.strip())
''',
    "numbers": '''import torch, weakref, gc, sys
m = torch.nn.Linear(2, 2); o = torch.optim.SGD(m.parameters(), lr=.1); y = m(torch.ones(1, 2)).sum(); z = y * 2
print(y.grad_fn._sequence_nr(), z.grad_fn._sequence_nr(), torch.random.initial_seed() > 0, torch.get_num_threads()); y.backward(); print((m.weight * 2).grad_fn._sequence_nr(), sys.getrefcount(m), len(gc.get_referrers(m)), m._forward_hooks, torch.nn.modules.module._global_forward_hooks)
''',
    "named_everything": '''import torch, t
class M(torch.nn.Module):
    __slots__ = ()
    def __getattr__(self, n):
        if n.startswith('_ts'): raise RuntimeError(n)
        return super().__getattr__(n)
    def __hash__(self): raise TypeError('no hash')
    def __eq__(self, o): raise TypeError('no eq')
    def __bool__(self): raise TypeError('no bool')
    def __len__(self): raise TypeError('no len')
    def __repr__(self): raise TypeError('no repr')
    def named_modules(self, *a, **k): raise TypeError('no names')
    def forward(self, x): return x * 2
m = M(); print(m(torch.ones(1)));
class Odd(torch.nn.Module):
    @property
    def grad_fn(self): raise ValueError
    def forward(self, x):
        class R(dict):
            def values(self): raise KeyError('values')
        return R(a=x)
print(Odd()(torch.ones(1, requires_grad=True)))
''',
    "fork_after_forward": '''import torch, os, sys
m = torch.nn.Linear(2, 2); o = torch.optim.SGD(m.parameters(), lr=.1)
for _ in range(3): m(torch.ones(1, 2))
print(torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork(), flush=True)
for k in range(2):
    if os.fork() == 0:
        try:
            if torch.version.cuda and os.path.exists('/dev/nvidiactl'):
                n = torch.nn.Linear(2, 2).cuda(); n(torch.ones(1, 2, device='cuda')).sum().backward(); torch.cuda.synchronize()
            m(torch.ones(1, 2)).sum().backward(); o.step(); print('child', float(m.weight.grad.sum()), flush=True)
        except BaseException as e: print('child failed', repr(e), flush=True)
        os._exit(0)
    print(os.wait()[1], flush=True)
''',
}
