#!/usr/bin/env python3
"""Replays recorded programs, the last run of each file, with the simulator: from the recorded durations, it gives the measured times of steps.

    replay.py --tilescope PROGRAM --simulate PROGRAM RECORDING.tscope…

What the host does between its calls, each call and each activity of the GPU keep their recorded durations; when an activity
begins and how long a call waits is left to the simulator. Launches take their usual time onto an idle GPU, and activities follow
each other by the usual gap, one figure each for a recording. Prints both times for each recording; exit status 1 if the mean
step differs by more than --limit per cent in one of them.
"""

import argparse
import bisect
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

LONG_CALL_NS = 20_000  # a launch call that takes longer may have waited
TIMES_USUAL = 3
RETURN_NS = 50_000  # from the end of awaited work until a call returns, at most
CAUSE_NS = 10_000  # from the end of awaited work on another stream until an activity begins, at most
LONGEST_GAP_NS = 20_000
LONGEST_LAUNCH_NS = 50_000  # onto an idle GPU


class Replay:
    """The simulated program of one GPU of a run."""

    def __init__(self, show, sql, run, most):
        self.show = show
        columns = "start, end, launched, stream, device, correlation, graph_node, step, thread"
        self.activities = sorted(sql(f"select {columns} from kernels where run = {run}") + sql(f"select {columns} from copies where run = {run}"),
                                 key=lambda each: (each["start"], each["end"]))
        devices = {each["device"] for each in self.activities}
        self.activities = [each for each in self.activities
                           if each["launched"] is not None and each["device"] == min(devices)][:most]
        until = self.activities[-1]["end"] if self.activities else 0
        self.calls = [each for each in sql("select name, start, start + duration as end, correlation, thread from api_calls "
                                      f"where run = {run}")
                      if each["start"] <= until and "buffer" not in each["name"].lower()]
        self.number = 0
        self.records = {}

    def program(self):
        activities = self.activities
        self.by_correlation = {}
        for index, each in enumerate(activities):
            each["index"] = index
            self.by_correlation.setdefault((each["correlation"], each["launched"]), []).append(each)
        threads = {each["thread"] for each in activities}
        calls = [each for each in self.calls if each["thread"] in threads]
        launch_calls = {(each["correlation"], each["start"]): each for each in calls}
        lengths = sorted(call["end"] - call["start"] for key, call in launch_calls.items() if key in self.by_correlation)
        self.usual_call = lengths[len(lengths) // 4] if lengths else 0
        self.find_lags(launch_calls)
        points = [(call["start"], call["end"], call, self.by_correlation.get(key))
                  for key, call in launch_calls.items()]
        points += [(key[1], self.returned(key[1], list_), None, list_) for key, list_ in self.by_correlation.items()
                   if key not in launch_calls]
        points.sort(key=lambda each: each[:2])
        self.ends = sorted((each["end"], each["index"]) for each in activities)
        self.last_of_stream = {}
        body = []
        now = points[0][0]
        for start, end, call, launched in points:
            if end < now and not launched:
                continue  # within another call
            if start > now:
                body.append({"do": "compute", "ns": start - now})
            now = max(now, end)
            self.add(body, start, end, call, launched)
        # Events are recorded after what they are for: known only now.
        instructions = []
        for each in body:
            instructions.append(each)
            for index in each.pop("events", ()):
                if index in self.records:
                    instructions.append({"do": "record", "number": self.records[index], "stream": each.get("stream", 7)})
        return {"clocks": [0], "queue_depth": 1024, "sync_return": 3000, "wake_up": 10000, "sync_records": True,
                "threads": [{"rank": 0, "number": 1, "instructions": instructions}]}

    def returned(self, launched, activities):
        """When a launch whose call was not recorded returned: at once, unless it loaded a kernel or a graph onto an idle GPU."""
        first = min(activities, key=lambda each: each["start"])
        before = [each for each in self.activities[:first["index"]][-16:] if each["end"] > launched]
        loaded = first["start"] - self.latency
        return loaded if not before and loaded - launched > LONGEST_LAUNCH_NS else launched

    def find_lags(self, launch_calls):
        """The usual time from a launch onto an idle GPU, and between activities of which one waited for the other."""
        lags = []
        ran_until = 0
        for each in self.activities:
            call = launch_calls.get((each["correlation"], each["launched"]))
            middle = each["launched"] + (min(call["end"] - call["start"], LONG_CALL_NS) // 2 if call else 0)
            if ran_until <= each["launched"] and 0 <= each["start"] - middle <= LONGEST_LAUNCH_NS:
                lags.append(each["start"] - middle)
            ran_until = max(ran_until, each["end"])
        self.latency = round(statistics.median(lags)) if lags else 5000
        gaps = []
        last = {}
        for each in self.activities:
            before = last.get(each["stream"])
            if before is not None and each["launched"] + 2 * self.latency < before < each["start"] + LONGEST_GAP_NS:
                gaps.append(max(0, each["start"] - before))
            last[each["stream"]] = each["end"]
        self.gap = round(statistics.median(gaps)) if gaps else 1000

    def add(self, body, start, end, call, launched):
        length = end - start
        if launched:
            awaited = None
            if call is None and length > 0:  # it loads first
                body.append({"do": "compute", "ns": length})
                length = 0
            if length > max(LONG_CALL_NS, TIMES_USUAL * self.usual_call):
                awaited = self.awaited(start, end, {each["index"] for each in launched})
            returns_after = call and all(each["end"] <= end for each in launched)
            blocks = returns_after or awaited is not None
            if awaited is not None and not returns_after:
                body.append({"do": "sync-event", "number": self.record(awaited)})
            self.launch(body, launched, min(length, self.usual_call) if blocks else length)
            if returns_after:
                body.append({"do": "sync-event", "number": self.record(launched[-1]["index"])})
            return
        awaited = None
        if "Sync" in call["name"] or "Memcpy" in call["name"] or "cudaFree" == call["name"]:
            awaited = self.awaited(start, end, set())
        if awaited is None:
            body.append({"do": "compute", "ns": length})
        else:
            body.append({"do": "sync-event", "number": self.record(awaited), "call": 1000})

    def awaited(self, start, end, but):
        """The activity that ended last before a call did, if that was during the call."""
        at = bisect.bisect_right(self.ends, (end, len(self.ends))) - 1
        while at >= 0 and self.ends[at][1] in but:
            at -= 1
        if at < 0 or self.ends[at][0] <= start or end - self.ends[at][0] > RETURN_NS:
            return None
        return self.ends[at][1]

    def record(self, index):
        if index not in self.records:
            self.number += 1
            self.records[index] = self.number
        return self.records[index]

    def launch(self, body, launched, call):
        first = launched[0]
        stream = first["stream"]
        cause = self.cause_of(first)
        if cause is not None:
            body.append({"do": "stream-wait", "number": self.record(cause), "stream": stream})
        common = {"call": call, "latency": self.latency, "gap": self.gap, "stream": stream, "work": "matmul"}
        if len(launched) == 1:
            body.append({"do": "launch", "ns": first["end"] - first["start"], "name": f"k{first['index']}", **common,
                         "events": [first["index"]]})
        else:
            nodes = []
            for i, each in enumerate(launched):
                before = max((j for j in range(max(0, i - 16), i) if launched[j]["end"] <= each["start"]),
                             key=lambda j: launched[j]["end"], default=None)
                gap = self.gap if before is None else min(each["start"] - launched[before]["end"], LONGEST_GAP_NS)
                nodes.append({"do": "launch", "ns": each["end"] - each["start"], "name": f"k{each['index']}",
                              "latency": self.latency, "gap": gap, "stream": each["stream"], "work": "matmul",
                              "after": [] if before is None else [before]})
            body.append({"do": "replay", "body": nodes, **common, "events": [each["index"] for each in launched]})
        for each in launched:
            self.last_of_stream[each["stream"]] = each["end"]

    def cause_of(self, activity):
        """An activity of another stream with whose end this one begins, where nothing else explains that."""
        ready = max(activity["launched"] + self.latency, self.last_of_stream.get(activity["stream"], 0))
        if activity["start"] - ready <= CAUSE_NS:
            return None
        at = bisect.bisect_right(self.ends, (activity["start"], len(self.ends))) - 1
        while at >= 0 and self.ends[at][0] >= activity["start"] - CAUSE_NS:
            other = self.activities[self.ends[at][1]]
            if other["stream"] != activity["stream"] and other["launched"] <= activity["launched"]:
                return other["index"]
            at -= 1
        return None

    def periods(self, starts):
        """By step that is typical and has a next one: the time between their first activities."""
        rows = self.show("steps")
        first_rank = min((row["rank"] or 0 for row in rows), default=0)
        typical = {row["step"] for row in rows if row["typical"] and (row["rank"] or 0) == first_rank}
        first = {}
        for each in self.activities:
            if each["step"] is not None and each["index"] in starts:
                begin = starts[each["index"]]
                first[each["step"]] = min(begin, first.get(each["step"], begin))
        return {step: first[step + 1] - begin for step, begin in first.items() if step in typical and step + 1 in first}


def replay(options, recording):
    def run(*arguments):
        done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return json.loads(done.stdout) if done.stdout else None

    last = run(options.tilescope, "show", recording, "runs", "--format", "json")[-1]["run"]
    one = Replay(lambda *arguments: run(options.tilescope, "show", recording, *arguments, "--run", last, "--format", "json"),
                 lambda statement: run(options.tilescope, "sql", recording, statement, "--format", "json"), last, options.most)
    if len(one.activities) < 2:
        return f"{recording.name}: no launches were recorded", True
    with tempfile.TemporaryDirectory(prefix="tilescope-replay-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / "source.json").write_text(json.dumps(one.program()))
        run(options.simulate, "replay", folder / "source.json", folder / "replayed.json")
        replayed = json.loads((folder / "replayed.json").read_text())
    starts = {int(each["name"][1:]): each["start"] for each in replayed}
    recorded = {each["index"]: each["start"] for each in one.activities}
    before, after = one.periods(recorded), one.periods(starts)
    steps = sorted(before.keys() & after.keys())
    if steps:
        measured = statistics.mean(before[step] for step in steps)
        simulated = statistics.mean(after[step] for step in steps)
        what = f"{len(steps)} steps"
    else:
        measured = max(recorded.values()) - min(recorded.values())
        simulated = max(starts.values()) - min(starts.values())
        what = "the whole recording"
    difference = 100 * (simulated / measured - 1)
    each = sorted(abs(after[step] / before[step] - 1) for step in steps)
    median = f", median of each {100 * each[len(each) // 2]:.1f} %" if each else ""
    return (f"{recording.name}: {what}: measured {measured / 1e6:.3f} ms, replayed {simulated / 1e6:.3f} ms, "
            f"{difference:+.1f} %{median}; launch {one.latency / 1e3:.1f} us, gap {one.gap / 1e3:.1f} us"), \
        abs(difference) <= options.limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope", required=True)
    parser.add_argument("--simulate", required=True)
    parser.add_argument("--limit", type=float, default=5, help="per cent")
    parser.add_argument("--most", type=int, default=20000, help="activities that are replayed of a recording")
    parser.add_argument("recordings", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    failed = 0
    for recording in options.recordings:
        text, holds = replay(options, recording)
        failed += not holds
        print(text, "" if holds else "(more than the limit)", flush=True)
    print(f"{len(options.recordings)} recordings, {failed} differ by more than {options.limit:g} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
