"""Times commands of tilescope on a recording that repeats real traces (repeat.py).

Each command runs on two processors; --lanes runs several at a time, each on processors of its own. The last line is one JSON object;
--results also writes it after each command. Exits with 1 if a command failed or took longer than --limit.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
REPEATS = int(os.environ.get("TILESCOPE_REPEATS", "3"))
KERNELS = "select short_name, count(*), sum(duration) from kernels group by 1 order by 3 desc"
TOTALS = "select short_name, sum(instances), sum(total) from activity_totals group by 1 order by 3 desc"
COUNTS = " union all ".join(f"select '{table}' as what, count(*) as events from {table}"
                           for table in ("range", "op", "api_call", "kernel", "copy", "allocation", "frame"))
COMMANDS = {
    "answers": ["show", "FILE", "answers"],
    "tree": ["show", "FILE", "tree"],
    "tree of host time": ["show", "FILE", "tree", "--weight", "host"],
    "tree of bytes": ["show", "FILE", "tree", "--weight", "allocated"],
    "tree of FLOPs": ["show", "FILE", "tree", "--weight", "flops"],
    "tree, inverted": ["show", "FILE", "tree", "--invert"],
    "tree, folded": ["export", "FILE", "--folded", "OUT"],
    "tree of a tenth": ["show", "FILE", "tree", "--from", "FROM", "--to", "TO"],
    "runs": ["show", "FILE", "runs"],
    "kernels": ["show", "FILE", "kernels"],
    "kernels by op": ["show", "FILE", "kernels", "--group", "op"],
    "roofline": ["show", "FILE", "roofline"],
    "roofline by shape": ["show", "FILE", "roofline", "--group", "shape"],
    "advice": ["show", "FILE", "advice"],
    "path": ["show", "FILE", "path"],
    "ranks": ["show", "FILE", "ranks"],
    "collectives": ["show", "FILE", "collectives"],
    "ops": ["show", "FILE", "ops"],
    "ranges": ["show", "FILE", "ranges"],
    "waiting": ["show", "FILE", "waiting"],
    "memory": ["show", "FILE", "memory"],
    "inside": ["show", "FILE", "inside"],
    "kernels of a rank": ["show", "FILE", "kernels", "--rank", "1"],
    "tree of a rank": ["show", "FILE", "tree", "--rank", "1"],
    "steps": ["show", "FILE", "steps"],
    "difference": ["compare", "FILE:1", "FILE:1"],
    "sql of totals": ["sql", "FILE", TOTALS],
    "sql of rows": ["sql", "FILE", KERNELS],
}


class Refused(Exception):
    """A command failed or took longer than it may."""


@contextlib.contextmanager
def bound_to(processors):
    """Binds the calling thread, and the programs that it starts, to `processors`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(command, processors, limit=None):
    """Wall and processor time in ms and peak memory in MiB."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        with bound_to(processors):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        killer = threading.Timer(limit, process.kill) if limit else None
        if killer:
            killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if killer:
            killer.cancel()
        wall = 1e3 * (time.monotonic() - began)
        if status != 0:
            errors.seek(0)
            raise Refused(f"{' '.join(map(str, command))}: after {wall / 1e3:.1f} s: {errors.read().decode() or status}")
    return wall, 1e3 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss / 1024


def said(name, figures):
    print(f"{name:20} {figures['wall_ms']:10.1f} ms  {figures['cpu_ms']:10.1f} ms of processors  {figures['peak_mib']:6} MiB",
          file=sys.stderr, flush=True)


def imported(tilescope, events, folder, keeps):
    """Makes the recording where there is none. What its import took, if it was made."""
    file = folder / "answers.tscope"
    if file.exists():
        return {}
    ranks = folder / "ranks"
    if not list(ranks.glob("*.json.gz")):
        began = time.monotonic()
        subprocess.run([sys.executable, HERE / "repeat.py", ranks, str(events)], check=True)
        print(f"traces made in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    traces = sorted(ranks.glob("*.json.gz"))
    wall, cpu, peak = run([tilescope, "import", "-q", *traces, "-o", file], os.sched_getaffinity(0))
    figures = {"wall_ms": round(wall, 1), "cpu_ms": round(cpu, 1), "peak_mib": round(peak),
               "processors": len(os.sched_getaffinity(0)), "traces_mib": sum(trace.stat().st_size for trace in traces) >> 20}
    said("import", figures)
    if not keeps:
        for trace in traces:
            trace.unlink()
    return {"import": figures}


def wordsFor(tilescope, folder):
    """What stands for FILE, FROM and so on."""
    file = folder / "answers.tscope"
    last = max(json.loads(subprocess.run([tilescope, "show", file, "steps", "--format", "json"], check=True, capture_output=True,
                                         text=True).stdout), key=lambda row: row["step"])
    length = last["wall_ns"] * (last["step"] + 1)
    return {"FILE": str(file), "FILE:1": f"{file}:1", "FROM": str(int(0.4 * length)), "TO": str(int(0.5 * length))}


def timed(name, tilescope, words, processors, arguments):
    words = {**words, "OUT": str(arguments.folder / f"{name}.txt")}
    try:
        times = [run([tilescope, *(words.get(word, word) for word in COMMANDS[name])], processors, arguments.limit)
                 for _ in range(REPEATS)]
    except Refused as error:
        print(f"{name:20} {error}", file=sys.stderr, flush=True)
        return {"refused": str(error)}
    figures = {"wall_ms": round(statistics.median(wall for wall, _, _ in times), 1),
               "longest_ms": round(max(wall for wall, _, _ in times), 1),
               "cpu_ms": round(statistics.median(cpu for _, cpu, _ in times), 1),
               "peak_mib": round(max(memory for _, _, memory in times))}
    said(name, figures)
    return figures


def measure(arguments):
    tilescope, file = arguments.programs / "tilescope", arguments.folder / "answers.tscope"
    results = imported(tilescope, arguments.events, arguments.folder, arguments.keep_traces)

    lock = threading.Lock()  # of `results`

    def keep(name=None, figures=None):
        with lock:
            if name:
                results["answers"][name] = figures
            if arguments.results:
                arguments.results.write_text(json.dumps(results) + "\n")

    words = wordsFor(tilescope, arguments.folder)
    kept = json.loads(subprocess.run([tilescope, "sql", file, COUNTS, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    kept = {row["what"]: row["events"] for row in kept}
    results = {"events": kept, "bytes_per_event": round(file.stat().st_size / sum(kept.values()), 1),
               "file_mib": round(file.stat().st_size / (1 << 20)), "repeats": REPEATS, **results, "answers": {}}
    keep()
    processors = sorted(os.sched_getaffinity(0))
    lanes = queue.Queue()
    for lane in range(max(1, min(arguments.lanes, len(processors) // 2))):
        lanes.put(set(processors[2 * lane:2 * lane + 2]))

    def answer(name):
        lane = lanes.get()
        try:
            figures = timed(name, tilescope, words, lane, arguments)
        finally:
            lanes.put(lane)
        keep(name, figures)

    with concurrent.futures.ThreadPoolExecutor(lanes.qsize()) as pool:
        for done in [pool.submit(answer, name) for name in arguments.commands or COMMANDS]:
            done.result()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path, help="the folder of the command line")
    parser.add_argument("events", type=int, nargs="?", default=10_000_000)
    parser.add_argument("folder", type=pathlib.Path, nargs="?",
                        help="keeps the traces and the recording, which are made where it has none (default: a temporary one)")
    parser.add_argument("--commands", nargs="*", choices=COMMANDS, help="default: all")
    parser.add_argument("--lanes", type=int, default=1, help="commands at a time (default 1)")
    parser.add_argument("--limit", type=float, help="seconds after which a command is ended")
    parser.add_argument("--results", type=pathlib.Path, help="file of the results so far")
    parser.add_argument("--drop-traces", dest="keep_traces", action="store_false", help="delete the traces once they are imported")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        arguments.folder = arguments.folder or pathlib.Path(temporary)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        results = measure(arguments)
    print(json.dumps(results))
    return 1 if any("refused" in figures for figures in results["answers"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
