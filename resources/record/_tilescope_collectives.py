"""Records PyTorch's collectives: each goes through an operator of the library c10d, from Python and from C++ (DDP's
reducer), with every backend and in every version from 2.0 on. Nothing here raises into the program, but for what a handler
of a signal raises.
"""

import atexit
import functools
import os
import sys
import time
import weakref

# At exit, the longest wait for threads of PyTorch that will call a function of the recorder.
_PATIENCE_S = 60

# Operators, with the name of the operation. Those that a version lacks are left out.
_OPERATORS = {
    "allreduce_": "all_reduce", "allreduce_coalesced_": "all_reduce", "broadcast_": "broadcast", "reduce_": "reduce",
    "allgather_": "all_gather", "_allgather_base_": "all_gather", "allgather_coalesced_": "all_gather",
    "allgather_into_tensor_coalesced_": "all_gather", "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "reduce_scatter", "reduce_scatter_tensor_coalesced_": "reduce_scatter",
    "gather_": "gather", "scatter_": "scatter", "alltoall_": "all_to_all", "alltoall_base_": "all_to_all",
    "barrier": "barrier", "send": "send", "recv_": "recv"}
# What a rank sends; what it receives where it sends nothing.
_MESSAGES = ("input_tensors", "input_tensor", "inputs", "input", "tensors", "tensor")
_DTYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
           "uint8": "u8", "int8": "i8", "float8_e4m3fn": "f8", "float8_e5m2": "f8"}
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU", "hpu": "HPU", "mtia": "MTIA", "mps": "MPS", "meta": "Meta"}


def _flat(value):
    """The tensors of nested lists."""
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _flat(item)]
    return [] if value is None else [value]


class Collectives:
    def __init__(self, recorder, torch, c10d, raised_by_program):
        self._raised_by_program = raised_by_program
        self._recorder = recorder
        self._torch = torch
        self._c10d = c10d
        self._numbers = {}  # of the latest collective of each group
        # Weak references to functions that a thread of PyTorch will call when an operation is done. A WeakSet would call code
        # of Python when one is gone, and lose the exception of a signal's handler that runs then.
        self._awaited = []
        self._most_awaited = 256
        os.register_at_fork(after_in_child=self._awaited.clear)
        atexit.register(recorder.hidden(self._settle))
        # A kernel before those of the backends: it notes the call and passes it on.
        self._library = torch.library.Library("c10d", "IMPL")
        for name, op in _OPERATORS.items():
            try:
                self._watch(getattr(torch.ops.c10d, name).default, name, op)
            except Exception as error:
                if raised_by_program(error):
                    raise

    def _watch(self, overload, name, op):
        places = {argument.name: place for place, argument in enumerate(overload._schema.arguments)}
        message = next(places[word] for word in _MESSAGES if word in places)
        group = places["process_group"]
        peer = places.get("dst" if op == "send" else "src") if op in ("send", "recv") else None
        begin = self._begin
        # A function of the recorder, which no traceback shows: it calls begin(), the operator and end().
        kernel = self._recorder.around(overload._op_dk, lambda arguments: begin(op, arguments, message, group, peer), self._end)
        self._library.impl(name, kernel, "BackendSelect")

    def _begin(self, op, arguments, message, group, peer):
        """(number of the record, 0 without one, and the type of the device), and the key of the operator's next kernel."""
        number, device = 0, "cpu"
        try:
            tensors = _flat(arguments[message])
            if not tensors:  # of a scatter that only receives
                tensors = [tensor for value in arguments for tensor in _flat(value) if isinstance(tensor, self._torch.Tensor)]
            device = tensors[0].device.type
            name, ranks = self._group(arguments[group])
            to = -1
            sequence = -1
            if peer is not None:
                to = int(arguments[peer])
                if ranks and to < len(ranks):
                    to = ranks[to]
            else:
                # Counted while nothing is recorded as well, so that all ranks agree.
                sequence = self._numbers[name] = self._numbers.get(name, -1) + 1
            dtype = str(tensors[0].dtype).rpartition(".")[2]
            size = -1 if op == "barrier" else sum(tensor.numel() * tensor.element_size() for tensor in tensors)
            number = self._recorder.collective(op, name, ",".join(map(str, ranks)), _DTYPES.get(dtype, ""), sequence,
                                               size, len(ranks), to)
        except Exception as error:
            if self._raised_by_program(error):
                raise
        key = getattr(self._torch._C.DispatchKey, _KEYS.get(device, "PrivateUse1"))
        return (number, device), key

    def _group(self, boxed):
        """Name and ranks of a group; empty where this PyTorch does not tell."""
        known = self._c10d._world.pg_group_ranks
        unbox = getattr(self._torch._C._distributed_c10d.ProcessGroup, "unbox", None)
        if unbox is not None:
            group = unbox(boxed)
        elif len(known) == 1:
            group = next(iter(known))
        else:
            return "", []
        return self._c10d._world.pg_names.get(group, ""), sorted(known.get(group, ()))

    def _end(self, begun, result):
        """Notes the end of an operation: of one on the CPU when it is done, of one on a device, whose kernel tells its
        times, when it has been started."""
        collected = self._recorder.collected
        number, device = begun
        if not number:
            return
        if device != "cpu":
            result = None
        try:
            work = result[-1] if isinstance(result, (list, tuple)) else result
            unbox = getattr(self._torch._C._distributed_c10d.Work, "unbox", None)
            if work is not None and unbox is not None and not sys.is_finalizing():
                # A call without code of Python, in which no handler of a signal runs: its exception would be lost.
                done = functools.partial(collected, number)
                self._await(done)
                unbox(work).get_future().add_done_callback(done)
                return
        except Exception as error:
            if self._raised_by_program(error):
                raise
        collected(number)

    def _await(self, done):
        self._awaited.append(weakref.ref(done))
        if len(self._awaited) > self._most_awaited:
            self._awaited[:] = self._left()
            self._most_awaited = max(256, 2 * len(self._awaited))

    def _left(self):
        return [reference for reference in self._awaited if reference() is not None]

    def _settle(self):
        """Waits until the threads of PyTorch hold no function of the recorder, as the end of their process group waits for
        the operations: a thread that asks for the interpreter after its end would abort the process."""
        until = time.monotonic() + _PATIENCE_S
        try:
            while self._left() and time.monotonic() < until:
                time.sleep(0.001)
        except BaseException:  # a signal: the program ends all the same
            pass


def watch(recorder, torch, c10d, raised_by_program):
    """Records the collectives from the first process group on; a program without one has no such kernels.

    raised_by_program(error) tells whether an exception is one of the program's.
    """
    made = []

    def make(_=None):
        if made:
            return
        made.append(None)
        try:
            made[0] = Collectives(recorder, torch, c10d, raised_by_program)
        except Exception as error:
            if raised_by_program(error):
                raise

    c10d.init_process_group = recorder.around(c10d.init_process_group, make)
    if c10d.is_initialized():
        make()
