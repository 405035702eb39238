"""Recordings for the tests of the Python package."""
import atexit
import functools
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
STORED = sorted((SOURCE / "tests/data/store").glob("version-*.tscope"))
SCHEMA = sorted((SOURCE / "core/store/schema").glob("*.sql"))
PROGRAM = os.environ.get("TILESCOPE_PROGRAM", "")
TRACES = SOURCE / "tests/data/kineto"


def command_line():
    """The program `tilescope`; none where these tests run without a build."""
    return PROGRAM if PROGRAM and os.access(PROGRAM, os.X_OK) else None


@functools.lru_cache(maxsize=None)
def folder():
    """A folder that lives as long as the tests."""
    made = tempfile.mkdtemp(prefix="tilescope-python-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return pathlib.Path(made)


@functools.lru_cache(maxsize=None)
def imported():
    """A recording of two processes on GPUs, and another of one, imported from PyTorch's profiler by this build's program."""
    file = folder() / "imported.tscope"
    for traces in (["ddp_rank0.json.gz", "ddp_rank1.json.gz"], ["compiled_graphs.json.gz"]):
        subprocess.run([command_line(), "import", *(str(TRACES / name) for name in traces), "-o", str(file)], check=True,
                       stdout=subprocess.DEVNULL)
    return file


@functools.lru_cache(maxsize=None)
def recorded():
    """A recording of experiments on the CPU; none if the build has no engine."""
    if os.environ.get("TILESCOPE_HAS_ENGINE") != "1":
        return None
    file = folder() / "recorded.tscope"
    for words in (["attention", "--seq-len", "[32, 48]"], ["lm", "--size", "tiny", "--context", "16", "--mode", "train"]):
        subprocess.run([command_line(), "run", *words, "--device", "cpu", "--batch", "1", "--steps", "2", "-o", str(file)],
                       check=True, stdout=subprocess.DEVNULL)
    return file


@functools.lru_cache(maxsize=None)
def waited():
    """A recording with stacks of the host; none where the window's tests are not built."""
    fixture = os.environ.get("TILESCOPE_FIXTURE")
    if not fixture or not os.access(fixture, os.X_OK):
        return None
    file = folder() / "waited.tscope"
    subprocess.run([fixture, "waiting", str(folder() / "sources"), str(file)], check=True, stdout=subprocess.DEVNULL)
    return file


@functools.lru_cache(maxsize=None)
def generated():
    """An import of a server's trace: a prefill and three decode iterations of four sequences; none without the program."""
    if not command_line():
        return None
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    for i, (kind, tokens) in enumerate([("EXTEND", 512), ("DECODE", 4), ("DECODE", 4), ("DECODE", 4)]):
        start = 1000.0 * i
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"step[{kind} bs=4 toks={tokens}]", "pid": 1, "tid": 1, "ts": start, "dur": 900.0},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start + 10, "dur": 5.0,
             "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": "flash_fwd_kernel", "pid": 0, "tid": 7, "ts": start + 50, "dur": 300.0,
             "args": {"device": 0, "stream": 7, "correlation": i + 1, "grid": [1, 1, 1], "block": [128, 1, 1]}}]
    trace = folder() / "server.json"
    trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    file = folder() / "server.tscope"
    subprocess.run([command_line(), "import", str(trace), "-o", str(file)], check=True, stdout=subprocess.DEVNULL)
    return file


class Made:
    """A recording of the newest version that a test fills itself, with its chunks."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.database = sqlite3.connect(str(path), isolation_level=None)
        self.database.execute("pragma synchronous = off")
        self._next = {}
        for file in SCHEMA:
            self.database.executescript(file.read_text(encoding="utf-8").partition("-- reading older files:")[0])
        self.database.execute("pragma application_id = {}".format(0x54534350))
        self.database.execute("pragma user_version = {}".format(len(SCHEMA)))
        self.database.execute("insert into file (id, created, program, sealed, edition) values (1, 0, 'Tilescope', 1, 0)")

    def add(self, table, **values):
        """Adds a row and its chunk; returns its id."""
        row = self._next[table] = self._next.get(table, 0) + 1
        values = {"id": row, **values}
        if table == "run":
            for column in ("uid", "name", "workload", "spec_hash", "host", "status"):
                values.setdefault(column, "{} {}".format(column, row))
            values.setdefault("spec", "{}")
            values.setdefault("program", "Tilescope 0.1.0")
            for column in ("pid", "started", "clock_origin", "first_range", "first_op"):
                values.setdefault(column, 0)
        self.database.execute("insert into {} ({}) values ({})".format(
            table, ", ".join('"{}"'.format(name) for name in values), ", ".join("?" * len(values))), list(values.values()))
        run = row if table == "run" else values.get("run")
        self.database.execute("insert into chunk (run, source, first, last, rows, checksum) values (?, ?, ?, ?, 1, 0)",
                              (run, table, row, row))
        return row

    def text(self, value):
        """The id of a text."""
        found = self.database.execute("select id from string where text = ?", (value,)).fetchone()
        return found[0] if found else self.add("string", text=value)

    def close(self):
        self.database.close()
        return str(self.path)
