"""Times commands of tilescope on a recording that repeats real traces (repeat.py). usage: answers.py PROGRAMS [EVENTS] [FOLDER]

FOLDER keeps the traces and the recording, which are made where it has none; by default a temporary one.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
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


def run(command):
    """Wall and processor time in ms and peak memory in MiB; exits if the command fails."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    wall = 1e3 * (time.monotonic() - began)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: {process.stderr.read().decode()}")
    return wall, 1e3 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss / 1024


def measure(programs, events, folder):
    file = folder / "answers.tscope"
    made = {}
    if not file.exists():
        if not list((folder / "ranks").glob("*.json.gz")):
            subprocess.run([sys.executable, HERE / "repeat.py", folder / "ranks", str(events)], check=True)
        traces = sorted((folder / "ranks").glob("*.json.gz"))
        wall, cpu, peak = run([programs / "tilescope", "import", "-q", *traces, "-o", file])
        made = {"import": {"wall_ms": round(wall, 1), "cpu_ms": round(cpu, 1), "peak_mib": round(peak)}}
        print(f"{'import':20} {wall:10.1f} ms  {peak:6.0f} MiB", file=sys.stderr, flush=True)
    last = max(json.loads(subprocess.run([programs / "tilescope", "show", file, "steps", "--format", "json"], check=True,
                                         capture_output=True, text=True).stdout), key=lambda row: row["step"])
    length = last["wall_ns"] * (last["step"] + 1)
    words = {"FILE": str(file), "FILE:1": f"{file}:1", "OUT": str(folder / "folded.txt"),
             "FROM": str(int(0.4 * length)), "TO": str(int(0.5 * length))}
    results = {}
    for name, command in COMMANDS.items():
        times = [run([programs / "tilescope", *(words.get(word, word) for word in command)]) for _ in range(REPEATS)]
        results[name] = {"wall_ms": round(statistics.median(wall for wall, _, _ in times), 1),
                         "longest_ms": round(max(wall for wall, _, _ in times), 1),
                         "cpu_ms": round(statistics.median(cpu for _, cpu, _ in times), 1),
                         "peak_mib": round(max(memory for _, _, memory in times))}
        print(f"{name:20} {results[name]['wall_ms']:10.1f} ms  {results[name]['cpu_ms']:10.1f} ms of processors  {results[name]['peak_mib']:6} MiB", file=sys.stderr, flush=True)
    kept = json.loads(subprocess.run([programs / "tilescope", "sql", file, COUNTS, "--format", "json"], check=True, capture_output=True,
                                     text=True).stdout)
    kept = {row["what"]: row["events"] for row in kept}
    return {"events": kept, "bytes_per_event": round(file.stat().st_size / sum(kept.values()), 1),
            "file_mib": round(file.stat().st_size / (1 << 20)), "repeats": REPEATS, **made, "answers": results}


def main():
    programs = pathlib.Path(sys.argv[1])
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    if len(sys.argv) > 3:
        print(json.dumps(measure(programs, events, pathlib.Path(sys.argv[3]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(programs, events, pathlib.Path(folder))))


main()
