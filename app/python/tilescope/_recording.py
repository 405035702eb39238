"""The tables of a recording."""

import collections
import contextlib
import importlib
import json
import os
import sqlite3
import subprocess
import warnings

from tilescope import _counters, _steps
from tilescope._programs import has_program, program
from tilescope._store import VERIFY, Error, connected, is_being_written, version_of
from tilescope._tables import Builder, from_json, integer, nullable, real, text

_EVENT = (integer("id"), integer("run"), nullable("step"), integer("start", "ns"), integer("end", "ns"),
          integer("duration", "ns"))
_GEOMETRY = tuple(nullable("{}_{}".format(of, axis)) for of in ("grid", "block", "cluster") for axis in "xyz")
_LAUNCHED = (nullable("correlation"), nullable("range"), nullable("op"), nullable("thread"), nullable("graph_node"))

_RANGES = (*_EVENT, text("name"), text("path"), nullable("parent"), nullable("thread"))
_OPS = (*_EVENT, text("name"), text("path"), text("shapes"), text("scope"), nullable("range"), nullable("parent"),
        nullable("thread"), nullable("sequence"))
_API_CALLS = (*_EVENT, text("name"), text("kind"), nullable("correlation"), nullable("range"), nullable("op"),
              nullable("thread"))
_KERNELS = (*_EVENT, text("name"), text("short_name"), text("path"), nullable("device"), nullable("stream"),
            nullable("launched", "ns"), *_GEOMETRY, nullable("registers"), nullable("static_shared", "B"),
            nullable("dynamic_shared", "B"), nullable("local", "B"), *_LAUNCHED)
_COPIES = (*_EVENT, text("name"), text("path"), text("kind"), text("direction"), integer("bytes", "B"),
           nullable("device"), nullable("stream"), nullable("launched", "ns"), *_LAUNCHED)
_MEMORY = (integer("id"), integer("run"), nullable("step"), integer("start", "ns"), text("action"), nullable("device"),
           integer("address"), integer("bytes", "B"), integer("allocated", "B"), integer("reserved", "B"),
           nullable("stream"), integer("pool"), text("category"), text("path"), nullable("op"))
_COLLECTIVES = (integer("id"), integer("run"), nullable("process"), nullable("step"), integer("start", "ns"),
                integer("end", "ns"), integer("duration", "ns"), text("op"), text("grp"), text("ranks"), text("dtype"),
                nullable("sequence"), nullable("bytes", "B"), nullable("group_size"), nullable("peer"),
                nullable("device"), nullable("stream"), nullable("thread"), nullable("correlation"), nullable("range"),
                text("path"))
_FRAMES = (*_EVENT, text("name"), nullable("thread"))
_WAITS = (integer("id"), integer("run"), nullable("process"), nullable("step"), integer("start", "ns"), integer("end", "ns"),
          integer("duration", "ns"), text("kind"), nullable("device"), nullable("stream"), nullable("waited_for"),
          nullable("correlation"), nullable("record_correlation"))
_COUNTERS = (integer("run"), nullable("process"), nullable("device"), text("name"), text("unit"), integer("start", "ns"),
             integer("end", "ns"), real("value"))
_SAMPLES = (integer("run"), integer("step"), text("kind"), text("phase"), integer("wall_ns", "ns"),
            nullable("gpu_ns", "ns"))
_LOSSES = (integer("run"), text("kind"), text("severity"), integer("count"), text("detail"))
_ENVIRONMENT = (integer("run"), text("key"), text("value"), text("unit"))
_DEVICES = (integer("run"), integer("device"), nullable("ordinal"), text("uuid"), text("name"), text("host"),
            nullable("memory", "B"), nullable("multiprocessors"), text("capability"))
_STREAMS = (integer("run"), integer("device"), integer("stream"), nullable("process"), nullable("native"),
            nullable("context"), text("name"))
_THREADS = (integer("run"), integer("thread"), text("name"), nullable("process"), nullable("native"))
_PROCESSES = (integer("run"), nullable("process"), nullable("pid"), text("host"), text("name"), text("command_line"),
              nullable("rank"), nullable("world_size"), nullable("started", "ns"), nullable("clock"),
              integer("first_correlation"))
_RUNS = (integer("run"), text("uid"), text("name"), text("workload"), from_json("spec"), nullable("point"),
         text("status"), text("reason"), text("device"), nullable("parameters"), nullable("before_backward", "B"),
         nullable("peak_allocated", "B"), nullable("peak_reserved", "B"), real("trace_overhead"), from_json("loss"),
         nullable("oom_requested", "B"), nullable("oom_allocated", "B"), nullable("oom_reserved", "B"),
         text("oom_phase"), from_json("flags"), nullable("started", "ns"), nullable("duration", "ns"), text("program"),
         text("host"), integer("pid"), text("note"), text("tag"))
_STEPS = (integer("run"), integer("step"), nullable("rank"), nullable("process"), nullable("pid"),
          integer("start", "ns"), integer("end", "ns"), integer("wall_ns", "ns"),
          nullable("gpu_busy_ns", "ns"), nullable("idle_launch_ns", "ns"), nullable("sync_ns", "ns"),
          nullable("overhead_ns", "ns"), nullable("unexplained_ns", "ns"), text("verdict"))
_PATHS = (integer("run"), nullable("rank"), nullable("process"), nullable("pid"), nullable("step"), integer("start_ns", "ns"),
          *(integer(name, "ns") for name in ("wall_ns", "host_ns", "launch_ns", "compute_ns", "memory_ns", "communication_ns",
                                             "data_loading_ns", "synchronization_ns", "unexplained_ns")), text("bound"))
_KERNELS_BY_NAME = (integer("run"), text("name"), text("short_name"), integer("instances"), integer("steps"),
                    real("instances_per_step"), integer("total_ns", "ns"), integer("avg_ns", "ns"),
                    integer("min_ns", "ns"), integer("max_ns", "ns"), real("percent", "%"))

_WAITING = (integer("run"), nullable("rank"), nullable("process"), nullable("pid"), text("cause"), text("file"), nullable("line"),
            text("function"), text("next_file"), nullable("next_line"), text("next_function"), text("thread"), integer("steps"),
            integer("idle_ns", "ns"), real("idle_percent", "%"), real("low_ns", "ns"), real("high_ns", "ns"), nullable("samples"),
            nullable("count"), nullable("count_of_90_percent"), nullable("median_ns", "ns"), nullable("longest_ns", "ns"), text("work"),
            text("calls"))

_PARTS = ("gpu_ns", "host_ns", "attention_ns", "products_ns", "sampling_ns", "other_ns", "communication_ns", "copies_ns")
_BANDWIDTH = (text("bytes_source"), real("bandwidth_percent", "%"))
_ITERATIONS = (integer("run"), nullable("rank"), nullable("process"), nullable("pid"), integer("iteration"), nullable("step"), text("type"),
               text("why"), nullable("generation"), nullable("batch"), nullable("prompts"), nullable("context"), nullable("tokens"),
               integer("chunked"), integer("speculative"), integer("mixed"), integer("start_ns", "ns"), integer("wall_ns", "ns"),
               *(nullable(name, "ns") for name in _PARTS), nullable("unrecorded_ns", "ns"), real("tokens_per_second", "1/s"),
               nullable("bytes", "B"), *_BANDWIDTH)
_ITERATION_SUMS = (integer("run"), text("type"), nullable("batch"), nullable("context_from"), nullable("context_to"), integer("iterations"),
                   *(real(name, "ns") for name in ("mean_ns", "p50_ns", "p90_ns", "p99_ns", *_PARTS)), real("tokens_per_second", "1/s"),
                   real("bytes", "B"), *_BANDWIDTH)

_SQL = {"registers": "nullif(registers, 0)"}  # of columns that stand for unknown values by 0

_UNATTRIBUTED = "unattributed"
_WRITER_KILLED = b"the writing process was killed"
# The process of a run that has no rows in `process` is that of the run itself.
_PROCESSES_SQL = """
select run, process, pid, host, name, command_line, rank, world_size, started, clock, first_correlation
from traced_processes where :run is null or run = :run
union all
select id, null, pid, host, program, null, null, null, nullif(started, 0), null, 0 from run
where (:run is null or id = :run) and not exists (select 1 from process where process.run = run.id)
order by 1, 2"""
# Device activities by run and name, the costliest first: of the traced steps, or of all recorded time if another program
# was recorded.
_KERNELS_BY_NAME_SQL = """
select d.run, coalesce(n.text, :none), sn.text, count(*), count(distinct d.step), sum(d.duration), min(d.duration),
       max(d.duration)
from (select run, step, start, duration, name from kernel
      where (step is not null or run in (select id from run where workload = 'trace'))
        and (:run is null or (run = :run and id between :first_kernel and :last_kernel))
      union all
      select run, step, start, duration, name from copy
      where (step is not null or run in (select id from run where workload = 'trace'))
        and (:run is null or (run = :run and id between :first_copy and :last_copy))) d
left join string n on n.id = d.name
left join kernel_name kn on kn.id = d.name
left join string sn on sn.id = kn.short
group by d.run, d.name order by d.run, sum(d.duration) desc, min(d.start)"""


def open(path, pandas=None):
    """Opens a recording.

    path    of a .tscope file of this or an older version
    pandas  True: tables are DataFrames; False: they are Tables; None: DataFrames if pandas can be imported

    Raises Error for a file that is missing, damaged, another program's or a newer Tilescope's. Warns by a LossWarning if
    a run lacks records.
    """
    recording = Recording(path, pandas)
    _warn_of_losses(recording)
    return recording


class LossWarning(UserWarning):
    """A run lacks records, or some of its figures are doubtful."""


def _warn_of_losses(recording):
    try:
        with connected(recording.path) as connection:
            lost = connection.execute("select run, detail from losses where severity <> 'info' "
                                      "order by severity <> 'error', count desc").fetchall()
    except (Error, sqlite3.Error):
        return  # the tables will say so
    if lost:
        run, detail = lost[0]
        others = ", and {} more".format(len(lost) - 1) if len(lost) > 1 else ""
        warnings.warn("{}: run {}: {}{}; losses() lists all".format(recording.path, run, _text(detail), others), LossWarning,
                      stacklevel=3)


class Recording:
    """The tables of a .tscope file, each of all runs or of the run with that number.

    The file is read when a method is called, and not kept open: while it is being written, the next call sees more.
    Any thread may call. Times of events count from the start of their run; values that were not measured are missing.
    Each method raises Error for a damaged file and for a run that does not exist.
    """

    def __init__(self, path, pandas=None):
        self.path = os.fsdecode(path)
        self.version = version_of(self.path)
        self._wants_pandas = pandas

    def __repr__(self):
        return "tilescope.open({!r})".format(self.path)

    def runs(self, run=None):
        """One row per run: name, spec (its keys, resolved), status, memory, loss, flags, start in Unix time, and so on."""
        builder = self._builder(_RUNS)
        status, reason = (builder.position(name) for name in ("status", "reason"))
        sql = ("select r.run, r.uid, r.name, r.workload, t.spec, r.point, r.status, r.reason, r.device, r.parameters, "
               "r.before_backward, r.peak_allocated, r.peak_reserved, r.trace_overhead, "
               # Files of earlier versions have one number, that of the last step.
               "case typeof(r.loss) when 'text' then r.loss when 'null' then null else '[' || printf('%!.17g', r.loss) || ']' end, "
               "t.oom_requested, "
               "t.oom_allocated, t.oom_reserved, t.oom_phase, r.flags, nullif(r.started, 0), t.duration, t.program, t.host, t.pid, "
               "r.note, r.tag from runs r join run t on t.id = r.run where ? is null or r.run = ? order by r.run")
        with self._connected(run) as connection:
            rows = connection.execute(sql, (run, run)).fetchall()
            if run is None:
                self._require_whole(connection, "run", None, len(rows))
        # Asked after the snapshot: a writer that ended meanwhile has sealed a later one.
        if any(row[status] == b"running" for row in rows) and not is_being_written(self.path):
            rows = [(*row[:status], b"interrupted", _WRITER_KILLED, *row[reason + 1:]) if row[status] == b"running" else row
                    for row in rows]
        builder.add(rows)
        return builder.table()

    def kernels(self, run=None, by=None):
        """Kernels, one row each.

        by  "name": one row for all kernels, copies and memsets of a name in the traced steps, the costliest first,
            with the figures of `tilescope show FILE kernels`
        """
        if by is None:
            return self._events("kernel", "kernels", _KERNELS, run)
        if by != "name":
            raise ValueError("kernels(by={!r}): can be 'name'; group the rows of kernels() otherwise".format(by))
        return self._kernels_by_name(run)

    def copies(self, run=None):
        """Copies and memsets on devices, one row each."""
        return self._events("copy", "copies", _COPIES, run)

    def ranges(self, run=None):
        """Steps, phases and modules on the host, one row per instance."""
        return self._events("range", "ranges", _RANGES, run)

    def ops(self, run=None):
        """Ops on the host, one row per call."""
        return self._events("op", "ops", _OPS, run)

    def api_calls(self, run=None):
        """CUDA calls on the host."""
        return self._events("api_call", "api_calls", _API_CALLS, run)

    def memory(self, run=None):
        """Events of memory allocators: the rows of the file's view `allocations`."""
        return self._events("allocation", "allocations", _MEMORY, run)

    def collectives(self, run=None):
        """Collective and point-to-point operations between processes."""
        return self._events("collective", "collectives", _COLLECTIVES, run)

    def frames(self, run=None):
        """Calls of Python functions."""
        return self._events("frame", "frames", _FRAMES, run)

    def waits(self, run=None):
        """What streams and the host waited for."""
        return self._events("wait", "waits", _WAITS, run)

    def counters(self, run=None):
        """Readings of counters over time: clocks, power, traffic and others, each from `start` to `end`, in its `unit`."""
        builder = self._builder(_COUNTERS)
        sql = ("select c.run, c.process, c.device, n.text, u.text, c.end, c.data from counter_track c "
               "left join string n on n.id = c.name left join string u on u.id = c.unit "
               "where ? is null or c.run = ? order by c.id")
        with self._connected(run) as connection:
            tracks = connection.execute(sql, (run, run)).fetchall()
            self._require_whole(connection, "counter_track", run, len(tracks))
        for *of, end, data in tracks:
            try:
                readings = list(_counters.readings(data))
            except _counters.Damaged:
                raise Error(self.path, "the file is damaged: readings of a counter are not as they were written",
                            VERIFY) from None
            ends = [time for time, _ in readings[1:]] + [end]
            builder.add([(*of, time, until, value) for (time, value), until in zip(readings, ends)])
        return builder.table(("run",))

    def samples(self, run=None):
        """The time of each phase in each step that was timed, warm-up included."""
        return self._rows("sample", "samples", _SAMPLES, run)

    def losses(self, run=None):
        """Trace records that were dropped, clamped or not recognised."""
        return self._rows(None, "losses", _LOSSES, run)

    def environment(self, run=None):
        """Machine, versions and settings of each run, as the file stores them."""
        return self._rows("environment", "environment", _ENVIRONMENT, run)

    def threads(self, run=None):
        """Threads of each run; a missing process is the run's own."""
        return self._rows("thread", "threads", _THREADS, run)

    def devices(self, run=None):
        """GPUs of each run."""
        return self._rows("device", "devices", _DEVICES, run)

    def streams(self, run=None):
        """Streams of the GPUs of each run."""
        return self._rows("stream", "streams", _STREAMS, run)

    def processes(self, run=None):
        """Processes of each run. A run of one process that Tilescope ran itself has one row, without a number."""
        builder = self._builder(_PROCESSES)
        with self._connected(run) as connection:
            builder.read(connection.execute(_PROCESSES_SQL, {"run": run}))
        return builder.table()

    def steps(self, run=None):
        """The parts of the wall time of each traced step: those of `tilescope show FILE steps`.

        gpu_busy_ns and the four kinds of idle time add up to wall_ns; they are missing if no GPU was traced. Whether a busy GPU, or the
        launches of an idle one, limit a step needs more than these parts: `verdict` is then what the program tilescope says, and
        missing where there is no such program.
        """
        builder = self._builder(_STEPS)
        with self._connected(run) as connection:
            for each in [run] if run is not None else _run_numbers(connection):
                builder.add(self._judged(list(_steps_of(connection, each)), each))
        return builder.table()

    def paths(self, run=None):
        """What the critical path of each step spends its time on: the rows of `tilescope show FILE path`, which this runs.

        The kinds of time add up to wall_ns.
        """
        return self._shown("path", _PATHS, [], run)

    def waiting(self, run=None, group="line", step=None, rank=None):
        """What the GPUs of a run wait for: the rows of `tilescope show FILE waiting`, which this runs.

        group  "line", "innermost", "function", "place", "cause" or "thread"
        step, rank  only these; None: the mean of all typical steps, all ranks

        `low_ns` and `high_ns` enclose idle_ns with a confidence of 95 %; they are missing where the time is exact.
        """
        def interval(row):
            row["low_ns"], row["high_ns"] = row["interval_ns"] or (None, None)
            return row

        chosen = [word for name, value in (("--step", step), ("--rank", rank)) if value is not None for word in (name, str(value))]
        return self._shown("waiting", _WAITING, ["--group", group, *chosen], run, interval)

    def generation(self, run=None, group="iteration"):
        """The iterations of programs that generate text: the rows of `tilescope show FILE generation`, which this runs.

        group  "iteration": one row each; "type" or "batch": means and percentiles of iterations
        """
        columns = _ITERATIONS if group == "iteration" else _ITERATION_SUMS
        return self._shown("generation", columns, ["--group", group], run)

    def _shown(self, table, columns, options, run, change=lambda row: row):
        """The rows of `tilescope show FILE TABLE` of a run, or of all."""
        builder = self._builder(columns)
        with self._connected(run) as connection:
            numbers = [run] if run is not None else _run_numbers(connection)
        for number in numbers:
            rows = []
            for row in self._shown_rows(table, options, number):
                row = change(row)
                values = (row[column.name] for column in columns)
                rows.append(tuple(value.encode("utf-8") if isinstance(value, str) else int(value) if isinstance(value, bool) else value
                                  for value in values))
            builder.add(rows)
        return builder.table()

    def _shown_rows(self, table, options, number):
        command = [program("tilescope.Recording." + table), "show", os.path.abspath(self.path), table, "--format", "json", *options]
        made = subprocess.run([*command, "--run", str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if made.returncode != 0:
            lines = made.stderr.decode("utf-8", "replace").strip().splitlines()
            raise Error(self.path, "`tilescope show` failed: {}".format(lines[-1] if lines else made.returncode))
        return json.loads(made.stdout.decode("utf-8"))

    def _judged(self, rows, run):
        """Rows of _STEPS, with the program's verdict on steps that the parts of their time alone do not decide."""
        number, step, process, verdict = (next(i for i, column in enumerate(_STEPS) if column.name == name)
                                          for name in ("run", "step", "process", "verdict"))
        if all(row[verdict] not in _steps.UNDECIDED for row in rows):
            return rows
        known = {}
        if has_program():
            known = {(each["run"], each["step"], each["process"]): each["verdict"].encode("utf-8")
                     for each in self._shown_rows("steps", [], run)}
        return [row if row[verdict] not in _steps.UNDECIDED else
                (*row[:verdict], known.get((row[number], row[step], row[process])), *row[verdict + 1:]) for row in rows]

    # --- reading ---------------------------------------------------------------------------------------------------

    def _builder(self, columns):
        return Builder(self.path, columns, _pandas(self._wants_pandas))

    @contextlib.contextmanager
    def _connected(self, run):
        with connected(self.path) as connection:
            numbers = _run_numbers(connection)
            if run is not None and run not in numbers:
                raise Error(self.path, "there is no run {}".format(run),
                            "the file has {}".format(_listed(numbers) if numbers else "no runs"))
            yield connection

    def _rows(self, table, view, columns, run, sort_by=("run",)):
        """Rows of a view.

        table  whose rows they are, one each; None if they are not
        """
        builder = self._builder(columns)
        sql = "select {} from {}".format(", ".join(_SQL.get(column.name, column.name) for column in columns), view)
        values = []
        with self._connected(run) as connection:
            if run is not None:
                sql += " where run = ?"
                values.append(run)
                if columns[0].name == "id":
                    # Events have no index, but the ids of a run are together.
                    sql += " and id between ? and ?"
                    values += _chunks(connection, table, run)[:2]
            builder.read(connection.execute(sql, values))
            if table is not None:
                self._require_whole(connection, table, run, builder.rows)
        return builder.table(sort_by)

    def _events(self, table, view, columns, run):
        """Rows of a view of events in start order."""
        return self._rows(table, view, columns, run, ("run", "start"))

    def _require_whole(self, connection, table, run, found):
        if run is None:
            written = connection.execute("select coalesce(sum(rows), 0) from chunk where source = ?",
                                         (table,)).fetchone()[0]
        else:
            written = _chunks(connection, table, run)[2]
        if found != written:
            raise Error(self.path, "the file is damaged: its table {} should hold {} rows and holds {}".format(
                table, written, found), VERIFY)

    def _kernels_by_name(self, run):
        builder = self._builder(_KERNELS_BY_NAME)
        with self._connected(run) as connection:
            values = {"run": run, "none": _UNATTRIBUTED}
            for table in ("kernel", "copy"):
                values["first_" + table], values["last_" + table], _ = _chunks(connection, table, run)
            rows = connection.execute(_KERNELS_BY_NAME_SQL, values).fetchall()
        whole = collections.Counter()
        for row in rows:
            whole[row[0]] += row[5]
        builder.add([(of, name, short, n, steps, n / steps if steps else None, total, total // n, least, most,
                      100.0 * total / whole[of] if whole[of] > 0 else 0.0)
                     for of, name, short, n, steps, total, least, most in rows])
        return builder.table()


def _pandas(wanted):
    """The module pandas; None if tables are to be made without it."""
    if wanted is False:
        return None
    try:
        return importlib.import_module("pandas")
    except ImportError:
        if wanted:
            raise
        return None


def _run_numbers(connection):
    return [number for number, in connection.execute("select id from run order by id")]


def _listed(numbers):
    """"run 1", "runs 1 to 7": the first and the last of them."""
    if len(numbers) == 1:
        return "run {}".format(numbers[0])
    return "runs {} {} {}".format(numbers[0], "to" if numbers[-1] - numbers[0] + 1 == len(numbers) else "and others up to",
                                  numbers[-1])


def _chunks(connection, table, run):
    """(first id, last id, rows) of a run's rows in a table; ids that no row has if it has none."""
    return connection.execute("select coalesce(min(first), 0), coalesce(max(last), -1), coalesce(sum(rows), 0) "
                              "from chunk where run is ? and source = ?", (run, table)).fetchone()


def _text(value):
    return "" if value is None else value.decode("utf-8", "replace")


def _steps_of(connection, run):
    """Rows of _STEPS for a run."""
    topology = _Topology(connection, run)
    on_gpu = any(_chunks(connection, table, run)[2] > 0 for table in ("kernel", "copy"))
    stored = connection.execute("select step, process, start, end, gpu_busy, launching, synchronizing, tracing, unexplained "
                                "from step_total where run = ? order by start, id", (run,)).fetchall()
    events = _events_of(connection, run, topology) if on_gpu and not stored else None
    rows = stored or list(_computed_steps(connection, run, topology, events))
    waits = {}
    size = sum(_chunks(connection, table, run)[2] for table in ("kernel", "copy", "api_call"))
    if on_gpu and size <= _steps.MOST_JUDGED and any(
            parts[-1] >= _steps.MUCH_UNRECORDED * (end - start) > 0 for _, _, start, end, *parts in rows):
        device, calls = events or _events_of(connection, run, topology)
        waits = {process: _steps.unrecorded(device[process], calls[process]) for process in device}
    for step, process, start, end, *parts in rows:
        limit = _steps.verdict(end - start, *parts) if on_gpu else b"CPU"
        waiting = _steps.length((max(start, wait[0]), min(end, wait[1])) for wait in waits.get(process, ())
                                if wait[0] < end and wait[1] > start)
        if waiting > 0 and waiting >= _steps.MUCH_UNRECORDED * (end - start):
            limit = b"not judged"
        if not on_gpu:
            parts = (None,) * 5
        yield (run, step, topology.rank_of(process), *topology.numbers_of(process), start, end, end - start, *parts, limit)


def _rows_of(connection, run, table, columns):
    """(start, end, …) of the events of a table."""
    return connection.execute("select start, start + duration, {} from {} where run = ? and id between ? and ?".format(
        columns, table), (run, *_chunks(connection, table, run)[:2])).fetchall()


def _texts_of(connection, run, table, column):
    return dict(connection.execute("select id, text from string where id in (select {} from {} where run = ?)".format(
        column, table), (run,)))


def _events_of(connection, run, topology):
    """The work on devices and the CUDA calls of each process: a step is about its own."""
    device, calls = collections.defaultdict(list), collections.defaultdict(list)
    for table in ("kernel", "copy"):
        for start, end, launched, step, of, stream in _rows_of(connection, run, table, "start - queued, step, device, stream"):
            device[topology.of_stream(of, stream)].append((start, end, launched, step, (of, stream)))
    kinds = _texts_of(connection, run, "api_call", "kind")
    for start, end, kind, thread in _rows_of(connection, run, "api_call", "kind, thread"):
        calls[topology.of_thread(thread)].append((start, end, kinds.get(kind)))
    return device, calls


def _computed_steps(connection, run, topology, events):
    """The same as the rows of step_total, which only long runs have.

    events  from _events_of(); None without a GPU
    """
    paths = _texts_of(connection, run, "range", "path")
    ranges = sorted((row for row in _rows_of(connection, run, "range", "step, path, thread")
                     if row[2] is not None and _steps.is_step(_text(paths.get(row[3])))), key=lambda row: row[0])
    device, calls = events or (collections.defaultdict(list), collections.defaultdict(list))
    hosts = collections.defaultdict(dict)
    for start, end, step, _, thread in ranges:
        hosts[topology.of_thread(thread)].setdefault(step, (start, end))
    walls = {process: _steps.walls(of, device[process]) for process, of in hosts.items()}
    launches = {process: _steps.last_launches(of, device[process], calls[process]) for process, of in hosts.items()}
    prepared = {process: _steps.prepared(walls[process], device[process], _steps.first_launches(of, device[process]))
                for process, of in hosts.items()}
    waits = {process: _steps.unrecorded(device[process], calls[process]) for process in hosts}
    firsts = {process: _steps.first_errand(device[process], calls[process]) for process in hosts}
    for _, _, step, _, thread in ranges:
        process = topology.of_thread(thread)
        wall = walls[process][step]
        parts = ()
        if events:
            launched = [times[process][step] for times in (launches, prepared) if step in times[process]]
            parts = _steps.partition(wall, max(launched, default=None), _steps.overlapping(device[process], wall),
                                     _steps.overlapping(calls[process], wall), waits[process], firsts[process])
        yield (step, process, *wall, *parts)


class _Topology:
    """The processes of a run and what belongs to them; None for everything if the run has one process."""

    def __init__(self, connection, run):
        processes = connection.execute("select process, rank, pid from process where run = ? order by process",
                                       (run,)).fetchall()
        self._ranks = {process: rank for process, rank, pid in processes}
        self._pids = {process: pid if pid and pid > 0 else None for process, rank, pid in processes}
        self._threads, self._streams = {}, {}
        if len(processes) < 2:
            return
        self._threads = dict(connection.execute("select thread, process from thread where run = ?", (run,)))
        self._streams = {(device, stream): process for device, stream, process in connection.execute(
            "select device, stream, process from stream where run = ?", (run,))}

    def of_thread(self, thread):
        return self._threads.get(thread)

    def of_stream(self, device, stream):
        return self._streams.get((device, stream))

    def rank_of(self, process):
        """The rank of a process; of none, that of the run's only process."""
        return self._ranks.get(process) if process else next(iter(self._ranks.values()), None)

    def numbers_of(self, process):
        """The number and the pid of a process; of none, those of the run's only process."""
        if process is None and len(self._pids) == 1:
            process = next(iter(self._pids))
        return (process, self._pids[process]) if process in self._pids else (None, None)
