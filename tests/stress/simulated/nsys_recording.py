"""Writes what Nsight Systems would export of a simulated program, from what PyTorch's profiler would record of it.

Nsight Systems sees no ops and no waits of streams, but the ranges, CUDA calls and device activities with their times.
"""

import sqlite3

_SCHEMA = """
    create table StringIds (id integer not null primary key, value text not null);
    create table CUPTI_ACTIVITY_KIND_KERNEL (start integer, end integer, deviceId integer, contextId integer,
        streamId integer, correlationId integer, globalPid integer, demangledName integer, shortName integer,
        graphNodeId integer);
    create table CUPTI_ACTIVITY_KIND_RUNTIME (start integer, end integer, eventClass integer,
        globalTid integer, correlationId integer, nameId integer, returnValue integer, callchainId integer);
    create table CUPTI_ACTIVITY_KIND_MEMCPY (start integer, end integer, deviceId integer, contextId integer,
        streamId integer, correlationId integer, globalPid integer, bytes integer, copyKind integer,
        srcKind integer, dstKind integer, graphNodeId integer);
    create table CUPTI_ACTIVITY_KIND_MEMSET (start integer, end integer, deviceId integer, contextId integer,
        streamId integer, correlationId integer, globalPid integer, value integer, bytes integer,
        graphNodeId integer, memKind integer);
    create table NVTX_EVENTS (start integer not null, end integer, eventType integer not null,
        rangeId integer, category integer, color integer, text text, globalTid integer, endGlobalTid integer,
        textId integer, domainId integer, binaryData text);
    create table ThreadNames (nameId integer not null, priority integer, globalTid integer);
"""
_PUSH_POP = 59
_COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
_PAGEABLE, _PINNED, _DEVICE = 0, 1, 2


class _Strings:
    def __init__(self):
        self.ids = {}

    def of(self, text):
        return self.ids.setdefault(text, len(self.ids) + 1)


def _memory_kinds(name):
    def kind(word):
        return _PAGEABLE if "Pageable" in word else _PINNED if "Pinned" in word else _DEVICE
    source, _, target = name.partition("->")
    return kind(source), kind(target)


def write(recording, path):
    """`recording`: the parsed recording of one process; `path`: a database that does not exist."""
    database = sqlite3.connect(path)
    database.executescript(_SCHEMA)
    strings = _Strings()
    events = [each for each in recording["traceEvents"] if each["ph"] == "X"]
    origin = min(round(1000 * each["ts"]) for each in events)
    process = next(each["pid"] for each in events if each["cat"] == "cuda_runtime")
    global_pid = (1 << 48) + (process << 24)
    for each in events:
        start = round(1000 * each["ts"]) - origin
        end = start + round(1000 * each["dur"])
        arguments = each.get("args", {})
        activity = [start, end, 0, 1, arguments.get("stream"), arguments.get("correlation"), global_pid]
        node = arguments.get("graph node id", 0)
        if each["cat"] == "kernel":
            name = strings.of(each["name"])
            database.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values (?,?,?,?,?,?,?,?,?,?)",
                             activity + [name, name, node])
        elif each["cat"] == "gpu_memcpy":
            kind = next((number for word, number in _COPY_KINDS.items() if word in each["name"]), 0)
            database.execute("insert into CUPTI_ACTIVITY_KIND_MEMCPY values (?,?,?,?,?,?,?,?,?,?,?,?)",
                             activity + [arguments.get("bytes", 0), kind, *_memory_kinds(each["name"]), node])
        elif each["cat"] == "gpu_memset":
            database.execute("insert into CUPTI_ACTIVITY_KIND_MEMSET values (?,?,?,?,?,?,?,?,?,?,?)",
                             activity + [0, arguments.get("bytes", 0), node, _DEVICE])
        elif each["cat"] == "cuda_runtime":
            database.execute("insert into CUPTI_ACTIVITY_KIND_RUNTIME values (?,?,?,?,?,?,?,?)",
                             (start, end, 0, global_pid + each["tid"], arguments["correlation"],
                              strings.of(each["name"] + "_v1"), 0, None))
        elif each["cat"] == "user_annotation":
            database.execute("insert into NVTX_EVENTS values (?,?,?,?,?,?,?,?,?,?,?,?)",
                             (start, end, _PUSH_POP, None, 0, None, each["name"], global_pid + each["tid"], None,
                              None, 0, None))
    database.executemany("insert into StringIds values (?,?)", ((number, text) for text, number in strings.ids.items()))
    database.commit()
    database.close()
